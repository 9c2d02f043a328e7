import { describe, expect, test } from 'vitest';

import { petDocument } from './domain/hostile-documents.testing.ts';
import { createImportPool } from './pool.ts';

const poolOptions = { workers: 1, timeoutMs: 20_000, heapMib: 256 };
const petText = JSON.stringify(petDocument());

/** A document with so many operations that its import takes a while. */
const largeText = JSON.stringify({
  ...petDocument(),
  paths: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`/p${n}/{id}`, { get: {} }])),
});

describe('the import pool', () => {
  test('runs a limited number of imports at once, and the remaining imports afterwards', async () => {
    await using pool = createImportPool({ ...poolOptions, workers: 2 });
    const imports = Array.from({ length: 8 }, () => pool.importDocument({ text: petText }));
    for (const imported of await Promise.all(imports)) {
      expect(imported).toMatchObject({ ok: true, key: 'pet_store' });
    }
  });

  test('ends an import that takes too long, and runs the next one', async () => {
    await using pool = createImportPool({ ...poolOptions, timeoutMs: 40 });
    expect(await pool.importDocument({ text: largeText })).toMatchObject({
      ok: false,
      findings: [{ code: 'time_out' }],
    });
    await using patientPool = createImportPool(poolOptions);
    expect(await patientPool.importDocument({ text: petText })).toMatchObject({ ok: true });
  });

  test('ends an import that needs too much memory, and runs the next one', async () => {
    await using pool = createImportPool({ ...poolOptions, heapMib: 32 });
    const textOfManyValues = `{"openapi":"3.0.0","paths":{},"x":[${'[],'.repeat(4_000_000)}[]]}`;
    expect(await pool.importDocument({ text: textOfManyValues })).toMatchObject({
      ok: false,
      findings: [{ code: 'too_complex' }],
    });
    expect(await pool.importDocument({ text: petText })).toMatchObject({ ok: true });
  });

  test('refuses an import as unavailable when its queue is full', async () => {
    await using pool = createImportPool({ ...poolOptions, queueMax: 2 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 6 }, () => pool.importDocument({ text: petText })),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    for (const outcome of outcomes.slice(2)) {
      expect(outcome).toMatchObject({ reason: { code: 'unavailable' } });
    }
  });

  test('reports the progress of a large document', async () => {
    await using pool = createImportPool(poolOptions);
    const seenCounts: number[] = [];
    const onProgress = (done: number, total: number) => {
      expect(total).toBe(20_000);
      seenCounts.push(done);
    };
    expect(await pool.importDocument({ text: largeText, onProgress })).toMatchObject({ ok: true });
    expect(seenCounts.length).toBeGreaterThan(10);
    expect(seenCounts).toEqual(seenCounts.toSorted((a, b) => a - b));
  });

  test('ends running and waiting imports when it is closed', async () => {
    const pool = createImportPool(poolOptions);
    const imports = Promise.allSettled(
      [largeText, petText].map((each) => pool.importDocument({ text: each })),
    );
    await pool[Symbol.asyncDispose]();
    for (const outcome of await imports) {
      expect(outcome).toMatchObject({ reason: { code: 'unavailable' } });
    }
    await expect(pool.importDocument({ text: petText })).rejects.toMatchObject({
      code: 'unavailable',
    });
  });
});
