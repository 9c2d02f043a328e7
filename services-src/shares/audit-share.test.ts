import { expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import { createAuditShare } from './audit-share.ts';
import { callerLevelsOf } from './callers.ts';

const levels = callerLevelsOf({
  SHARE_ORG_PERCENT: 80,
  SHARE_USER_PERCENT: 80,
  SHARE_IDENTITY_PERCENT: 80,
});
const bot = { orgId: 'org', userId: 'ann', identityId: 'bot' };
const createDisclosedEntry = (value: string) => ({
  ...blankAuditEntry('Create note'),
  disclosed: [{ label: 'text', value, truncated: false }],
});

/** Makes calls until one is refused, at most a thousand. */
function callUntilRefused(share: ReturnType<typeof createAuditShare>, value: string) {
  for (let calls = 0; calls < 1_000; calls += 1) {
    try {
      share.assertRoom(bot);
    } catch (error) {
      return { calls, error };
    }
    share.take(bot, createDisclosedEntry(value), 2);
  }
  return { calls: 1_000, error: null };
}

test('a caller whose large audit rows use up its share is refused for a minute; other callers are accepted', () => {
  const clock = { ms: 0 };
  const share = createAuditShare({
    bytesPerMinute: 1_000_000,
    levels,
    component: 'executor',
    now: () => clock.ms,
  });
  const { calls, error } = callUntilRefused(share, 'x'.repeat(10_000));

  expect(calls).toBeGreaterThan(20);
  expect(calls).toBeLessThan(27);
  expect(error).toMatchObject({
    code: 'rate_limited',
    message: expect.stringContaining('of this identity'),
    details: { busy: true, retry_after: 30 },
  });
  for (const otherIds of [{ identityId: 'x' }, { userId: 'x' }, { orgId: 'x' }]) {
    expect(() => share.assertRoom({ ...bot, ...otherIds })).not.toThrow();
  }
  clock.ms = 60_000;
  expect(() => share.assertRoom(bot)).not.toThrow();
});

test('an audit row counts by the bytes that it takes in storage, not by its characters', () => {
  const share = () =>
    createAuditShare({ bytesPerMinute: 1_000_000, levels, component: 'executor' });
  expect(callUntilRefused(share(), '語'.repeat(10_000)).calls).toBeLessThan(10);
});

test('small audit rows use up less of the share than large ones, and a limit of 0 means no limit', () => {
  const limits = { levels, component: 'executor' as const };
  expect(
    callUntilRefused(createAuditShare({ ...limits, bytesPerMinute: 1_000_000 }), 'x').calls,
  ).toBeGreaterThan(250);
  expect(
    callUntilRefused(createAuditShare({ ...limits, bytesPerMinute: 0 }), 'x'.repeat(1e5)).error,
  ).toBeNull();
});
