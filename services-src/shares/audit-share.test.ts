import { expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import { createAuditShare } from './audit-share.ts';
import { callerLevels } from './callers.ts';

const levels = callerLevels({
  SHARE_ORG_PERCENT: 80,
  SHARE_USER_PERCENT: 80,
  SHARE_IDENTITY_PERCENT: 80,
});
const bot = { orgId: 'org', userId: 'ann', identityId: 'bot' };
const disclosed = (value: string) => ({
  ...blankAuditEntry('Create note'),
  disclosed: [{ label: 'text', value, truncated: false }],
});

/** Calls until they are refused, at most a thousand. */
function fill(share: ReturnType<typeof createAuditShare>, value: string) {
  for (let calls = 0; calls < 1_000; calls += 1) {
    try {
      share.assertRoom(bot);
    } catch (error) {
      return { calls, error };
    }
    share.take(bot, disclosed(value), 2);
  }
  return { calls: 1_000, error: null };
}

test('large rows use up the share of their caller, which is refused for a while, and nobody else', () => {
  const clock = { ms: 0 };
  const share = createAuditShare({
    bytesPerMinute: 1_000_000,
    levels,
    component: 'executor',
    now: () => clock.ms,
  });
  const { calls, error } = fill(share, 'x'.repeat(10_000));

  expect(calls).toBeGreaterThan(20);
  expect(calls).toBeLessThan(27);
  expect(error).toMatchObject({
    code: 'rate_limited',
    message: expect.stringContaining('of this identity'),
    details: { busy: true, retry_after: 30 },
  });
  for (const other of [{ identityId: 'x' }, { userId: 'x' }, { orgId: 'x' }]) {
    expect(() => share.assertRoom({ ...bot, ...other })).not.toThrow();
  }
  clock.ms = 60_000;
  expect(() => share.assertRoom(bot)).not.toThrow();
});

test('rows count by the bytes that are stored, whatever script they are in', () => {
  const share = () =>
    createAuditShare({ bytesPerMinute: 1_000_000, levels, component: 'executor' });
  expect(fill(share(), '語'.repeat(10_000)).calls).toBeLessThan(10);
});

test('small rows use up less of it, and a limit of 0 is none', () => {
  const limits = { levels, component: 'executor' as const };
  expect(
    fill(createAuditShare({ ...limits, bytesPerMinute: 1_000_000 }), 'x').calls,
  ).toBeGreaterThan(250);
  expect(
    fill(createAuditShare({ ...limits, bytesPerMinute: 0 }), 'x'.repeat(1e5)).error,
  ).toBeNull();
});
