import { describe, expect, test } from 'vitest';

import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import { createLogger } from '#telemetry';
import { templateDigest } from '#templates';
import { createTemplateCache } from './caches.ts';
import { actionOf, templateOf } from '../request/domain/action.testing.ts';

const template = templateOf([actionOf({})]);
const at = {
  digest: templateDigest(template),
  orgId: '00000000-0000-7000-8000-000000000001',
  template: { key: 'acme', tier: 'global' as const, ownerId: null, version: 1 },
};

function createCacheOver(getCompiledTemplate: () => Promise<typeof template>) {
  const client = { getCompiledTemplate } as unknown as Client<typeof registry>;
  return createTemplateCache(client, createLogger({ component: 'test', level: 'silent' }));
}

describe('the template cache', () => {
  test('returns the answer to a request that began before the cache was cleared, and does not cache it', async () => {
    const pendingAnswers: ((answer: typeof template) => void)[] = [];
    const askSlowly = () =>
      new Promise<typeof template>((resolve) => void pendingAnswers.push(resolve));
    const cache = createCacheOver(askSlowly);
    const first = cache.get(at, undefined as never);
    await Promise.resolve();
    cache.clear();
    const second = cache.get(at, undefined as never);
    await Promise.resolve();

    expect(pendingAnswers).toHaveLength(2);
    const newer = templateOf([actionOf({})]);
    pendingAnswers[1]?.(newer);
    pendingAnswers[0]?.(template);
    expect(await first).toBe(template);
    expect(await second).toBe(newer);
    expect(await cache.get(at, undefined as never)).toBe(newer);
    expect(pendingAnswers).toHaveLength(2);
  });

  test('refuses a template with another digest than the one that policy signed, and asks again later', async () => {
    const templates = [{ ...template, hosts: ['evil.example'] }, templateOf([]), template];
    const cache = createCacheOver(async () => templates.shift() ?? template);
    const refusal = { code: 'unavailable', details: { reason: 'template_not_genuine' } };

    await expect(cache.get(at, undefined as never)).rejects.toMatchObject(refusal);
    await expect(cache.get(at, undefined as never)).rejects.toMatchObject(refusal);
    expect(await cache.get(at, undefined as never)).toBe(template);
    // Policy decided by a template with another digest, so the cache must refuse this template.
    const templateWithOtherDigest = { ...at, digest: 'd'.repeat(64) };
    await expect(cache.get(templateWithOtherDigest, undefined as never)).rejects.toMatchObject(
      refusal,
    );
  });
});
