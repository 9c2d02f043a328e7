import { describe, expect, test } from 'vitest';

import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import { createLogger } from '#telemetry';
import { templateDigest } from '#templates';
import { createTemplateCache } from './caches.ts';
import { actionOf, templateOf } from './domain/action.testing.ts';

const template = templateOf([actionOf({})]);
const at = {
  digest: templateDigest(template),
  orgId: '00000000-0000-7000-8000-000000000001',
  template: { key: 'acme', tier: 'global' as const, ownerId: null, version: 1 },
};

function cacheOver(getCompiledTemplate: () => Promise<typeof template>) {
  const client = { getCompiledTemplate } as unknown as Client<typeof registry>;
  return createTemplateCache(client, createLogger({ component: 'test', level: 'silent' }));
}

describe('the template cache', () => {
  test('answers who asked before it was cleared, and does not keep that answer', async () => {
    const waiting: ((answer: typeof template) => void)[] = [];
    const ask = () => new Promise<typeof template>((resolve) => void waiting.push(resolve));
    const cache = cacheOver(ask);
    const first = cache.get(at, undefined as never);
    await Promise.resolve();
    cache.clear();
    const second = cache.get(at, undefined as never);
    await Promise.resolve();

    expect(waiting).toHaveLength(2);
    const newer = templateOf([actionOf({})]);
    waiting[1]?.(newer);
    waiting[0]?.(template);
    expect(await first).toBe(template);
    expect(await second).toBe(newer);
    expect(await cache.get(at, undefined as never)).toBe(newer);
    expect(waiting).toHaveLength(2);
  });

  test('refuses what policy did not decide by, keeps none of it, and takes the right one later', async () => {
    const told = [{ ...template, hosts: ['evil.example'] }, templateOf([]), template];
    const cache = cacheOver(async () => told.shift() ?? template);
    const refused = { code: 'unavailable', details: { reason: 'template_not_genuine' } };

    await expect(cache.get(at, undefined as never)).rejects.toMatchObject(refused);
    await expect(cache.get(at, undefined as never)).rejects.toMatchObject(refused);
    expect(await cache.get(at, undefined as never)).toBe(template);
    // A later decision by another template does not get this one.
    const other = { ...at, digest: 'd'.repeat(64) };
    await expect(cache.get(other, undefined as never)).rejects.toMatchObject(refused);
  });
});
