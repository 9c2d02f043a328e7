import { describe, expect, test } from 'vitest';

import { petDocument } from './hostile-documents.testing.ts';
import { createImportPool } from './pool.ts';

const options = { workers: 1, timeoutMs: 20_000, heapMib: 256 };
const text = JSON.stringify(petDocument());

/** Takes a while: many operations, each of which has to be judged. */
const large = JSON.stringify({
  ...petDocument(),
  paths: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`/p${n}/{id}`, { get: {} }])),
});

describe('the pool', () => {
  test('imports one after the other, and several at once', async () => {
    await using pool = createImportPool({ ...options, workers: 2 });
    const imports = Array.from({ length: 8 }, () => pool.importDocument({ text }));
    for (const imported of await Promise.all(imports)) {
      expect(imported).toMatchObject({ ok: true, key: 'pet_store' });
    }
  });

  test('ends what takes too long, and the next import works', async () => {
    await using pool = createImportPool({ ...options, timeoutMs: 40 });
    expect(await pool.importDocument({ text: large })).toMatchObject({
      ok: false,
      findings: [{ code: 'time_out' }],
    });
    await using patient = createImportPool(options);
    expect(await patient.importDocument({ text })).toMatchObject({ ok: true });
  });

  test('ends what takes too much memory, and the next import works', async () => {
    await using pool = createImportPool({ ...options, heapMib: 32 });
    const values = `{"openapi":"3.0.0","paths":{},"x":[${'[],'.repeat(4_000_000)}[]]}`;
    expect(await pool.importDocument({ text: values })).toMatchObject({
      ok: false,
      findings: [{ code: 'too_complex' }],
    });
    expect(await pool.importDocument({ text })).toMatchObject({ ok: true });
  });

  test('is unavailable when too many wait', async () => {
    await using pool = createImportPool({ ...options, queueMax: 2 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 6 }, () => pool.importDocument({ text })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    for (const outcome of outcomes.slice(2)) {
      expect(outcome).toMatchObject({ reason: { code: 'unavailable' } });
    }
  });

  test('tells how far a large document is', async () => {
    await using pool = createImportPool(options);
    const seen: number[] = [];
    const onProgress = (done: number, total: number) => {
      expect(total).toBe(20_000);
      seen.push(done);
    };
    expect(await pool.importDocument({ text: large, onProgress })).toMatchObject({ ok: true });
    expect(seen.length).toBeGreaterThan(10);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });

  test('gives up what runs and waits when it is closed', async () => {
    const pool = createImportPool(options);
    const imports = Promise.allSettled(
      [large, text].map((each) => pool.importDocument({ text: each })),
    );
    await pool[Symbol.asyncDispose]();
    for (const outcome of await imports) {
      expect(outcome).toMatchObject({ reason: { code: 'unavailable' } });
    }
    await expect(pool.importDocument({ text })).rejects.toMatchObject({ code: 'unavailable' });
  });
});
