import { describe, expect, test } from 'vitest';

import type { Client } from '#bus';
import type { registry } from '#contracts/bus/registry';
import { createTemplateCache } from './caches.ts';
import { actionOf, templateOf } from './domain/action.testing.ts';

const at = {
  orgId: '00000000-0000-7000-8000-000000000001',
  template: { key: 'acme', tier: 'global' as const, ownerId: null, version: 1 },
};
const template = templateOf([actionOf({})]);

describe('the template cache', () => {
  test('answers who asked before it was cleared, and does not keep that answer', async () => {
    const waiting: ((answer: typeof template) => void)[] = [];
    const ask = () => new Promise<typeof template>((resolve) => void waiting.push(resolve));
    const cache = createTemplateCache({ getCompiledTemplate: ask } as unknown as Client<
      typeof registry
    >);
    const first = cache.get(at, undefined as never);
    await Promise.resolve();
    cache.clear();
    const second = cache.get(at, undefined as never);
    await Promise.resolve();

    expect(waiting).toHaveLength(2);
    const newer = templateOf([]);
    waiting[1]?.(newer);
    waiting[0]?.(template);
    expect(await first).toBe(template);
    expect(await second).toBe(newer);
    expect(await cache.get(at, undefined as never)).toBe(newer);
    expect(waiting).toHaveLength(2);
  });
});
