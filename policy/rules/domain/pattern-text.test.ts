import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { actionKey, httpKey, positionsKey, splitKey } from '#permission-key';
import { parseHttpTarget } from '../../calls/domain/http-target.ts';
import { hostileText, propertyRuns } from '../../properties.testing.ts';
import { parsePattern } from './pattern-text.ts';

describe('the pattern of a new rule (parsePattern)', () => {
  test.for<[text: string, stored: string]>([
    ['github:issues.create:acme/site', 'github:issues.create:acme/site'],
    ['github:*:*', 'github:*:*'],
    ['notes:create_note:a%2fb/*', 'notes:create_note:a%2Fb/*'],
    ['*:*:*', '*:*:*'],
    ['org/github:issues.create:**', 'org/github:issues.create:**'],
    ['github:issues.create:100%25', 'github:issues.create:100%25'],
    ['github:issues.create:a%2ab', 'github:issues.create:a%2Ab'],
    ['http:get:API.Example.com/V1/**', 'http:GET:api.example.com/V1/**'],
    ['http:any:*.example.com/**', 'http:ANY:*.example.com/**'],
    ['http:*:*', 'http:*:*'],
    ['http:GET:**', 'http:GET:**'],
    ['http:GET:api.example.com:8443/x', 'http:GET:api.example.com:8443/x'],
    ['secret:token:api.example.com', 'secret:token:api.example.com'],
    ['secret:token:API.example.com', 'secret:token:api.example.com'],
    ['secret:org/token:*.example.com', 'secret:org/token:*.example.com'],
    ['secret:token:**', 'secret:token:**'],
    ['http:DELETE:h/%61dmin/**', 'http:DELETE:h/admin/**'],
    ['http:GET:h/café/*/%2a', 'http:GET:h/caf%C3%A9/*/%2A'],
    ['http:GET:h/.*', 'http:GET:h/.*'],
    ['http:GET:h/a%20b%ff', 'http:GET:h/a%20b%FF'],
    ['http:GET:**.example.com/%41**', 'http:GET:**.example.com/A**'],
    ['http:GET:API**/Admin', 'http:GET:api**/Admin'],
    ['http:GET:[::1]:8443/**', 'http:GET:[::1]:8443/**'],
    ['github:issues.create:café/Ünï', 'github:issues.create:café/Ünï'],
    ['github:issues.create:a%0a*%c2%85', 'github:issues.create:a%0A*%C2%85'],
    ['mcp:tool%3aname:*', 'mcp:tool%3Aname:*'],
    ['*:DELETE:api.example.com/caf%C3%A9', '*:DELETE:api.example.com/caf%C3%A9'],
    ['*:*:café', '*:*:café'],
  ])('%s is stored as %s', ([text, stored]) => {
    expect(parsePattern(text)).toBe(stored);
  });

  test.for<[text: string, message: string]>([
    ['github:issues', 'three segments'],
    [':issues.create:x', 'service'],
    ['github::x', 'action'],
    ['github:issues.create:', 'argument'],
    ['git*:issues.create:x', '"*" in its service'],
    ['github:issues.*:x', '"*" in its action'],
    ['github:**:x', '"*" in its action'],
    ['github:issues.create:100%', '%25'],
    ['github:issues.create:a\nb', 'control characters'],
    [`github:issues.create:${'a'.repeat(400)}*`, '320'],
    ['http:FETCH:a.example/**', 'method'],
    ['http:GET:a.example', 'path'],
    ['http:GET:a.example/x?y=1', 'query'],
    ['http:GET:https://A.example/X', 'scheme: keys have none. Did you mean "a.example/X"?'],
    ['http:GET:HTTP://*.a.example/**', 'scheme: keys have none. Did you mean "*.a.example/**"?'],
    ['http:GET:a.example:443/x', 'Did you mean "a.example"?'],
    ['github:issues', 'Correct the rule: pattern needs three segments'],
    ['http:GET:a.example./**', 'dot'],
    ['http:GET:a.example.:8443/**', 'dot'],
    ['http:GET:bücher.example/**', 'ASCII'],
    ['GitHub:issues.create:*', '"github"'],
    ['git%68ub:issues.create:*', 'service'],
    ['org/GitHub:issues.create:*', '"org/github"'],
    ['github:issues%2Ecreate:*', '"issues.create"'],
    ['*:ANY:**', 'ANY'],
    ['secret:To%6Ben:api.example.com', 'secret'],
    ['secret:token:api.example.com/x', 'plain host'],
    ['svc:act:caf%C3%A9', '"café"'],
    ['svc:act:%61*', '"a"'],
    ['svc:act:a%FF', '"a%25FF"'],
    ['*:*:x%61', '"xa"'],
    ['http:GET:h/a%2Fb/**', 'slash'],
    ['http:GET:h/a/../b', 'segments'],
    ['http:GET:h/%2e%2e/**', 'segments'],
    ['http:GET:h/a\\b', 'backslashes'],
    ['http:GET:127.1/**', '"127.0.0.1"'],
    ['http:GET:a.example:443/**', 'port'],
    ['http:GET:*.example:80/**', 'port'],
    ['http:GET:a.example:08443/**', '"a.example:8443"'],
    ['http:GET:%61.example/**', 'plain host'],
    ['http:GET:ann@a.example/**', 'plain host'],
    ['http:GET:a..example/**', 'labels'],
    ['http:GET:**.Example.com/**', 'capitals'],
    ['http:GET:/v1/**', 'host'],
    [`http:GET:h/${'é'.repeat(1000)}`, '4096'],
  ])('%s is refused with a reason that contains: %s', ([text, message]) => {
    expect(() => parsePattern(text)).toThrow(
      expect.objectContaining({
        code: 'invalid_params',
        message: expect.stringContaining(message),
      }),
    );
  });

  /** The permission key of a call with this argument, or to this address. */
  const keyOf = (service: string, arg: string): string | undefined => {
    try {
      if (service !== 'http') {
        const positions = arg.split('/').map((each) => decodeURIComponent(each));
        return arg.includes('%2F')
          ? positionsKey('svc', 'act', positions).key
          : actionKey('svc', 'act', decodeURIComponent(arg)).key;
      }
      const { host, path } = parseHttpTarget(`https://${arg}`, null);
      return httpKey('GET', host, path).key;
    } catch {
      return undefined;
    }
  };
  const parsedPattern = (service: string, arg: string): string | undefined => {
    try {
      return parsePattern(service === 'http' ? `http:GET:${arg}` : `svc:act:${arg}`);
    } catch {
      return undefined;
    }
  };

  test('equals the permission key of some call, if it is accepted and has no wildcard', () => {
    const service = fc.constantFrom('svc', 'http');
    const address = fc.oneof(
      hostileText,
      hostileText.map((text) => `a.example/${text}`),
    );
    fc.assert(
      fc.property(service, address, (of, text) => {
        const pattern = parsedPattern(of, text);
        fc.pre(pattern !== undefined && !pattern.includes('*'));
        expect(keyOf(of, splitKey(pattern)?.arg ?? '')).toBe(pattern);
      }),
      { numRuns: propertyRuns },
    );
  });

  test('is refused with a suggestion when its method is misspelled', () => {
    expect(() => parsePattern('http:PST:a.example/**')).toThrow(
      expect.objectContaining({
        details: { issues: [expect.objectContaining({ did_you_mean: 'POST' })] },
      }),
    );
  });
});
