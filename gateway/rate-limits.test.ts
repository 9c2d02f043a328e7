import { describe, expect, test } from 'vitest';

import { agent } from './principals.testing.ts';
import { createRateLimits } from './rate-limits.ts';

const caller = { principal: 'signed', claims: agent() };
const sibling = { principal: 'signed', claims: { ...caller.claims, identityId: 'another' } };

describe('rate limits', () => {
  test('refuse an identity over its quota, with the time to wait', () => {
    const limits = limitsOf({ identityPerMinute: 2 });
    limits.ofCaller(caller);
    const last = limits.ofCaller(caller);
    const { refusal, headers } = limits.ofCaller(caller);

    expect(last.refusal).toBeNull();
    expect(refusal).toMatchObject({ code: 'rate_limited', details: { retry_after: 30 } });
    expect(headers).toEqual({
      ratelimit: '"identity";r=0;t=60',
      'ratelimit-policy': '"identity";q=2;w=60',
    });
  });

  test('refuse all agents of a user together', () => {
    const limits = limitsOf({ identityPerMinute: 10, userPerMinute: 1 });

    expect(limits.ofCaller(caller).refusal).toBeNull();
    expect(limits.ofCaller(sibling).refusal).toMatchObject({ code: 'rate_limited' });
  });

  test('leave one identity alone when another is over its quota', () => {
    const limits = limitsOf({ identityPerMinute: 1 });
    limits.ofCaller(caller);

    expect(limits.ofCaller(caller).refusal).not.toBeNull();
    expect(limits.ofCaller(sibling).refusal).toBeNull();
  });

  test('are shared by the replicas that live', () => {
    let replicas = 1;
    const limits = limitsOf({ identityPerMinute: 10, replicas: () => replicas });
    expect(limits.ofCaller(caller).headers['ratelimit-policy']).toContain('q=10');

    replicas = 5;
    expect(limits.ofCaller(caller).headers['ratelimit-policy']).toContain('q=2');
    replicas = 100;
    expect(limits.ofCaller(caller).headers['ratelimit-policy']).toContain('q=1');
  });

  test('of zero are none', () => {
    const limits = limitsOf({});

    expect(limits.ofCaller(caller)).toEqual({ headers: {}, refusal: null });
    expect(limits.ofSignIn('127.0.0.1')).toEqual({ headers: {}, refusal: null });
  });

  test('of sign-in are kept per address', () => {
    const limits = limitsOf({ signInPerMinute: 1 });
    limits.ofSignIn('192.0.2.1');

    expect(limits.ofSignIn('192.0.2.1').refusal).toMatchObject({ code: 'rate_limited' });
    expect(limits.ofSignIn('192.0.2.2').refusal).toBeNull();
  });

  test('count all addresses of an IPv6 network as one, and its neighbour apart', () => {
    const limits = limitsOf({ signInPerMinute: 2, registerPerHour: 1, publicPerMinute: 1 });
    const from = (network: string, host: number) => `2001:db8:1:${network}::${host.toString(16)}`;

    expect(limits.ofSignIn(from('a', 1)).refusal).toBeNull();
    expect(limits.ofSignIn(from('a', 2)).refusal).toBeNull();
    expect(limits.ofSignIn(from('a', 3)).refusal).toMatchObject({ code: 'rate_limited' });
    expect(limits.ofSignIn(from('b', 3)).refusal).toBeNull();
    for (const kind of ['ofRegistration', 'ofPublic'] as const) {
      expect(limits[kind](from('a', 1)).refusal).toBeNull();
      expect(limits[kind](from('a', 2)).refusal).not.toBeNull();
    }
  });

  test('count what a body costs: a token for 32 KiB, and one for 2,000 values', () => {
    const limits = limitsOf({ identityPerMinute: 100 });

    expect(limits.ofBody(caller, { bytes: 30_000, values: 100 })).toBeNull();
    expect(limits.ofBody(caller, { bytes: 1_048_576, values: 50_000 })?.headers).toMatchObject({
      ratelimit: '"identity";r=43;t=35',
    });
    expect(limits.ofBody(caller, { bytes: 1_048_576, values: 50_000 })?.refusal).toMatchObject({
      code: 'rate_limited',
      details: { retry_after: 9 },
    });
    expect(limits.ofCaller(caller).refusal).toBeNull();
  });

  test('of callers are not forgotten for strangers from many addresses', () => {
    const limits = limitsOf({ identityPerMinute: 1, publicPerMinute: 1 });
    limits.ofCaller(caller);
    for (let host = 0; host < 60_000; host += 1) limits.ofPublic(`10.0.${host >> 8}.${host & 255}`);

    expect(limits.ofCaller(caller).refusal).not.toBeNull();
  });
});

function limitsOf(quotas: Partial<Parameters<typeof createRateLimits>[0]>) {
  return createRateLimits({
    identityPerMinute: 0,
    userPerMinute: 0,
    signInPerMinute: 0,
    registerPerHour: 0,
    publicPerMinute: 0,
    replicas: () => 1,
    now: () => 0,
    ...quotas,
  });
}
