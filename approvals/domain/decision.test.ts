import { describe, expect, test } from 'vitest';

import type { ResolveApprovalBody } from '#contracts/http/approvals';
import { parseDecision } from './decision.ts';

const key = 'github:issues.create:acme/site';

describe('parseDecision', () => {
  test.for<[body: ResolveApprovalBody, expected: unknown]>([
    [{ resolution: 'allow' }, { kind: 'allow', reason: null, remember: null, acknowledge: null }],
    [
      { resolution: 'allow', acknowledge: 'too_large' },
      { kind: 'allow', reason: null, remember: null, acknowledge: 'too_large' },
    ],
    [
      { resolution: 'allow_once', reason: 'ok' },
      { kind: 'allow', reason: 'ok', remember: null, acknowledge: null },
    ],
    [
      { resolution: 'allow_remember' },
      {
        kind: 'allow',
        reason: null,
        remember: { keys: undefined, ttlSeconds: 'default', cascade: true },
        acknowledge: null,
      },
    ],
    [
      { resolution: 'allow_always' },
      {
        kind: 'allow',
        reason: null,
        remember: { keys: undefined, ttlSeconds: 'forever', cascade: true },
        acknowledge: null,
      },
    ],
    [
      { resolution: 'allow_always', ttl: '24h', remember_keys: [key], cascade: false },
      {
        kind: 'allow',
        reason: null,
        remember: { keys: [key], ttlSeconds: 86_400, cascade: false },
        acknowledge: null,
      },
    ],
    [
      { resolution: 'deny', reason: 'no\0pe' },
      { kind: 'deny', reason: 'nope' },
    ],
    [
      { resolution: 'deny', reason: 'a\u202eb\n👩‍💻' },
      { kind: 'deny', reason: 'a\\u202eb\n👩‍💻' },
    ],
    [{ resolution: 'bubble' }, { kind: 'bubble' }],
  ])('%j', ([body, expected]) => {
    expect(parseDecision(body)).toEqual(expected);
  });

  test.for<ResolveApprovalBody>([
    { resolution: 'allow', ttl: '24h' },
    { resolution: 'allow_once', remember_keys: [key] },
    { resolution: 'deny', ttl: '24h' },
    { resolution: 'bubble', remember_keys: [key] },
    { resolution: 'allow_remember', ttl: 'soon' },
  ])('%j is refused', (body) => {
    expect(() => parseDecision(body)).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });
});
