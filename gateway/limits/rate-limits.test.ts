import { describe, expect, test } from 'vitest';

import { createAgentPrincipal } from '../principals.testing.ts';
import { createRateLimits } from './rate-limits.ts';

const caller = { principal: 'signed', claims: createAgentPrincipal() };
const sibling = { principal: 'signed', claims: { ...caller.claims, identityId: 'another' } };

describe('rate limits', () => {
  test('refuse an identity that is over its quota, and tell it how long it must wait', () => {
    const limits = limitsOf({ identityPerMinute: 2 });
    limits.countRequest(caller);
    const lastResult = limits.countRequest(caller);
    const { refusal, headers } = limits.countRequest(caller);

    expect(lastResult.refusal).toBeNull();
    expect(refusal).toMatchObject({ code: 'rate_limited', details: { retry_after: 30 } });
    expect(headers).toEqual({
      ratelimit: '"identity";r=0;t=60',
      'ratelimit-policy': '"identity";q=2;w=60',
    });
  });

  test('count the requests of all agents of a user together', () => {
    const limits = limitsOf({ identityPerMinute: 10, userPerMinute: 1 });

    expect(limits.countRequest(caller).refusal).toBeNull();
    expect(limits.countRequest(sibling).refusal).toMatchObject({ code: 'rate_limited' });
  });

  test('do not refuse one identity because another is over its quota', () => {
    const limits = limitsOf({ identityPerMinute: 1 });
    limits.countRequest(caller);

    expect(limits.countRequest(caller).refusal).not.toBeNull();
    expect(limits.countRequest(sibling).refusal).toBeNull();
  });

  test('are divided by the number of live replicas', () => {
    let replicaCount = 1;
    const limits = limitsOf({ identityPerMinute: 10, replicas: () => replicaCount });
    expect(limits.countRequest(caller).headers['ratelimit-policy']).toContain('q=10');

    replicaCount = 5;
    expect(limits.countRequest(caller).headers['ratelimit-policy']).toContain('q=2');
    replicaCount = 100;
    expect(limits.countRequest(caller).headers['ratelimit-policy']).toContain('q=1');
  });

  test('are switched off by a quota of zero', () => {
    const limits = limitsOf({});

    expect(limits.countRequest(caller)).toEqual({ headers: {}, refusal: null });
    expect(limits.countSignIn('127.0.0.1')).toEqual({ headers: {}, refusal: null });
  });

  test('count sign-ins per address', () => {
    const limits = limitsOf({ signInPerMinute: 1 });
    limits.countSignIn('192.0.2.1');

    expect(limits.countSignIn('192.0.2.1').refusal).toMatchObject({ code: 'rate_limited' });
    expect(limits.countSignIn('192.0.2.2').refusal).toBeNull();
  });

  test('count the addresses of one IPv6 network together, and those of the next network separately', () => {
    const limits = limitsOf({ signInPerMinute: 2, registerPerHour: 1, publicPerMinute: 1 });
    const addressIn = (network: string, host: number) =>
      `2001:db8:1:${network}::${host.toString(16)}`;

    expect(limits.countSignIn(addressIn('a', 1)).refusal).toBeNull();
    expect(limits.countSignIn(addressIn('a', 2)).refusal).toBeNull();
    expect(limits.countSignIn(addressIn('a', 3)).refusal).toMatchObject({ code: 'rate_limited' });
    expect(limits.countSignIn(addressIn('b', 3)).refusal).toBeNull();
    for (const method of ['countRegistration', 'countPublicRequest'] as const) {
      expect(limits[method](addressIn('a', 1)).refusal).toBeNull();
      expect(limits[method](addressIn('a', 2)).refusal).not.toBeNull();
    }
  });

  test('charge one token per 32 KiB of a body and one per 2,000 values in it', () => {
    const limits = limitsOf({ identityPerMinute: 100 });

    expect(limits.countBody(caller, { bytes: 30_000, values: 100 })).toBeNull();
    expect(limits.countBody(caller, { bytes: 1_048_576, values: 50_000 })?.headers).toMatchObject({
      ratelimit: '"identity";r=43;t=35',
    });
    expect(limits.countBody(caller, { bytes: 1_048_576, values: 50_000 })?.refusal).toMatchObject({
      code: 'rate_limited',
      details: { retry_after: 9 },
    });
    expect(limits.countRequest(caller).refusal).toBeNull();
  });

  test('remember what callers have used up even when requests arrive from many addresses', () => {
    const limits = limitsOf({ identityPerMinute: 1, publicPerMinute: 1 });
    limits.countRequest(caller);
    for (let host = 0; host < 60_000; host += 1)
      limits.countPublicRequest(`10.0.${host >> 8}.${host & 255}`);

    expect(limits.countRequest(caller).refusal).not.toBeNull();
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
