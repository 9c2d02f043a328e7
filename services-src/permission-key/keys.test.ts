import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  createActionKey,
  encodeArgument,
  createHttpKey,
  createSecretKey,
  splitKey,
  withoutOrg,
} from './keys.ts';
import { alikeTexts, hostileText, propertyRuns } from '../../policy/properties.testing.ts';

describe('createActionKey', () => {
  test.for<[name: string, argument: string | undefined, key: string]>([
    [
      'leaves an argument of plain characters unchanged',
      'acme/site',
      'github:issues.create:acme/site',
    ],
    [
      'makes the key of the whole action when there is no argument',
      undefined,
      'github:issues.create:*',
    ],
    [
      'does not make the key of the whole action from an empty argument',
      '',
      'github:issues.create:',
    ],
    ['encodes an asterisk in the argument', '*', 'github:issues.create:%2A'],
    ['encodes two asterisks in the argument', 'acme/**', 'github:issues.create:acme/%2A%2A'],
    [
      'encodes a percent sign, so that no argument decodes to a wildcard',
      '%2A',
      'github:issues.create:%252A',
    ],
    ['keeps a colon in the argument', 'a:b:c', 'github:issues.create:a:b:c'],
    [
      'encodes control characters',
      'a\n\u0000\u007f\u0085b',
      'github:issues.create:a%0A%00%7F%C2%85b',
    ],
    [
      'encodes invisible characters',
      'a\u202e\u200b\u2028\ufe0f\u{e0041}b',
      'github:issues.create:a%E2%80%AE%E2%80%8B%E2%80%A8%EF%B8%8F%F3%A0%81%81b',
    ],
    [
      'encodes characters that look like a space or like no character',
      'a\u2800\ue000\u3000b',
      'github:issues.create:a%E2%A0%80%EE%80%80%E3%80%80b',
    ],
    ['keeps the letter case', 'Acme/Site', 'github:issues.create:Acme/Site'],
    ['keeps the Unicode normalisation form', 'e\u0301é', 'github:issues.create:e\u0301é'],
  ])('%s', ([, argument, key]) => {
    expect(createActionKey('github', 'issues.create', argument).key).toBe(key);
  });

  test('encodes a colon in the service or the action, so that the segments stay apart', () => {
    const key = createActionKey('a:b', 'c:d', 'e');

    expect(key.key).toBe('a%3Ab:c%3Ad:e');
    expect(splitKey(key.key)).toEqual({ service: 'a%3Ab', action: 'c%3Ad', arg: 'e' });
  });

  test("keeps the prefix of an org's service", () => {
    expect(createActionKey('org/github', 'x', 'y').key).toBe('org/github:x:y');
  });

  test('never makes a wildcard from an argument, nor the same key from two arguments', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (left, right) => {
        const encoded = encodeArgument(left);
        expect(encoded).not.toMatch(/[*\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
        expect(encoded === encodeArgument(right)).toBe(left === right);
      }),
      { numRuns: propertyRuns },
    );
  });

  test('makes different keys for arguments that look alike', () => {
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

  test('makes a key from which its parts can be read back', () => {
    fc.assert(
      fc.property(hostileText, hostileText, hostileText, (service, action, argument) => {
        const segments = splitKey(createActionKey(service, action, argument).key);
        expect(decodeURIComponent(segments?.service ?? '')).toBe(service);
        expect(decodeURIComponent(segments?.action ?? '')).toBe(action);
        expect(decodeURIComponent(segments?.arg ?? '')).toBe(argument);
      }),
      { numRuns: propertyRuns },
    );
  });

  test('makes a key that splits into the segments from which it was made', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (service, action, argument) => {
        const { key, ...segments } = createActionKey(service, action, argument);
        expect(splitKey(key)).toEqual(segments);
      }),
      { numRuns: propertyRuns },
    );
  });
});

describe('other permission keys', () => {
  test('the key of a call by HTTP method and URL keeps the colons and percent triplets of the URL', () => {
    expect(createHttpKey('GET', 'api.example.com:8443', '/v1/a%20b:c').key).toBe(
      'http:GET:api.example.com:8443/v1/a%20b:c',
    );
  });

  test('the key of a call by HTTP method and URL encodes an asterisk in the path', () => {
    expect(createHttpKey('GET', 'a.example', '/*').key).toBe('http:GET:a.example/%2A');
  });

  test('the key for a secret names the host that the secret is sent to', () => {
    expect(createSecretKey('org/token', 'api.example.com').key).toBe(
      'secret:org/token:api.example.com',
    );
  });

  test('a text with two segments is not a permission key', () => {
    expect(splitKey('github:issues')).toBeUndefined();
  });

  test('withoutOrg drops the prefix of the org only at the beginning', () => {
    expect([withoutOrg('org/github'), withoutOrg('github')]).toEqual(['github', 'github']);
  });
});
