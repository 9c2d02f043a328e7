import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { actionKey, encodeArgument, httpKey, secretKey, splitKey, withoutOrg } from './keys.ts';
import { alikeTexts, hostileText, propertyRuns } from '../../policy/domain/properties.testing.ts';

describe('actionKey', () => {
  test.for<[name: string, argument: string | undefined, key: string]>([
    ['a plain argument stays readable', 'acme/site', 'github:issues.create:acme/site'],
    ['without an argument it is the whole action', undefined, 'github:issues.create:*'],
    ['an empty argument is not the whole action', '', 'github:issues.create:'],
    ['a wildcard is data', '*', 'github:issues.create:%2A'],
    ['two wildcards are data', 'acme/**', 'github:issues.create:acme/%2A%2A'],
    [
      'a percent sign is encoded, so that nothing decodes to a wildcard',
      '%2A',
      'github:issues.create:%252A',
    ],
    ['a colon needs no encoding in the argument', 'a:b:c', 'github:issues.create:a:b:c'],
    [
      'control characters are encoded',
      'a\n\u0000\u007f\u0085b',
      'github:issues.create:a%0A%00%7F%C2%85b',
    ],
    [
      'invisible characters are encoded',
      'a\u202e\u200b\u2028\ufe0f\u{e0041}b',
      'github:issues.create:a%E2%80%AE%E2%80%8B%E2%80%A8%EF%B8%8F%F3%A0%81%81b',
    ],
    [
      'so are characters that look like none or like a space',
      'a\u2800\ue000\u3000b',
      'github:issues.create:a%E2%A0%80%EE%80%80%E3%80%80b',
    ],
    ['case is kept', 'Acme/Site', 'github:issues.create:Acme/Site'],
    ['no form of Unicode is changed into another', 'e\u0301é', 'github:issues.create:e\u0301é'],
  ])('%s', ([, argument, key]) => {
    expect(actionKey('github', 'issues.create', argument).key).toBe(key);
  });

  test('a colon in service or action cannot move the segments', () => {
    const key = actionKey('a:b', 'c:d', 'e');

    expect(key.key).toBe('a%3Ab:c%3Ad:e');
    expect(splitKey(key.key)).toEqual({ service: 'a%3Ab', action: 'c%3Ad', arg: 'e' });
  });

  test('the service of the org keeps its prefix', () => {
    expect(actionKey('org/github', 'x', 'y').key).toBe('org/github:x:y');
  });

  test('no argument can make a wildcard, and no two arguments the same key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (left, right) => {
        const encoded = encodeArgument(left);
        expect(encoded).not.toMatch(/[*\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
        expect(encoded === encodeArgument(right)).toBe(left === right);
      }),
      { numRuns: propertyRuns },
    );
  });

  test('nor can those that are made to look alike', () => {
    fc.assert(
      fc.property(alikeTexts, ([left, right]) => {
        expect(encodeArgument(left)).not.toMatch(
          /[*\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u,
        );
        expect(encodeArgument(left) === encodeArgument(right)).toBe(left === right);
      }),
      { numRuns: propertyRuns },
    );
  });

  test('whatever a key was made of can be read back from it', () => {
    fc.assert(
      fc.property(hostileText, hostileText, hostileText, (service, action, argument) => {
        const segments = splitKey(actionKey(service, action, argument).key);
        expect(decodeURIComponent(segments?.service ?? '')).toBe(service);
        expect(decodeURIComponent(segments?.action ?? '')).toBe(action);
        expect(decodeURIComponent(segments?.arg ?? '')).toBe(argument);
      }),
      { numRuns: propertyRuns },
    );
  });

  test('the segments of a key are found again in it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (service, action, argument) => {
        const { key, ...segments } = actionKey(service, action, argument);
        expect(splitKey(key)).toEqual(segments);
      }),
      { numRuns: propertyRuns },
    );
  });
});

describe('other keys', () => {
  test('raw HTTP keeps the colons and triplets of its URL', () => {
    expect(httpKey('GET', 'api.example.com:8443', '/v1/a%20b:c').key).toBe(
      'http:GET:api.example.com:8443/v1/a%20b:c',
    );
  });

  test('a wildcard left in a path is encoded all the same', () => {
    expect(httpKey('GET', 'a.example', '/*').key).toBe('http:GET:a.example/%2A');
  });

  test('a secret is named with the host it goes to', () => {
    expect(secretKey('org/token', 'api.example.com').key).toBe('secret:org/token:api.example.com');
  });

  test('a key of two segments is none', () => {
    expect(splitKey('github:issues')).toBeUndefined();
  });

  test('the prefix of the org is dropped only at the beginning', () => {
    expect([withoutOrg('org/github'), withoutOrg('github')]).toEqual(['github', 'github']);
  });
});
