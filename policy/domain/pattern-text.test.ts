import { describe, expect, test } from 'vitest';

import { parsePattern } from './pattern-text.ts';

describe('parsePattern', () => {
  test.for<[text: string, stored: string]>([
    ['github:issues.create:acme/site', 'github:issues.create:acme/site'],
    ['github:*:*', 'github:*:*'],
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
    [`github:issues.create:${'a'.repeat(1100)}*`, '1024'],
    ['http:FETCH:a.example/**', 'method'],
    ['http:GET:a.example', 'path'],
    ['http:GET:a.example/x?y=1', 'query'],
    ['http:GET:a.example./**', 'dot'],
    ['http:GET:a.example.:8443/**', 'dot'],
    ['http:GET:bücher.example/**', 'ASCII'],
  ])('%s is refused and told why', ([text, message]) => {
    expect(() => parsePattern(text)).toThrow(
      expect.objectContaining({
        code: 'invalid_params',
        message: expect.stringContaining(message),
      }),
    );
  });

  test('a mistyped method gets a hint', () => {
    expect(() => parsePattern('http:PST:a.example/**')).toThrow(
      expect.objectContaining({
        details: { issues: [expect.objectContaining({ did_you_mean: 'POST' })] },
      }),
    );
  });
});
