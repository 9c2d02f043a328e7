import { afterAll, describe, expect, test } from 'vitest';

import { allowedMsOf } from '../../test/support/cpu.ts';
import { createSchemaChecker } from './checker.ts';

const patient = createSchemaChecker({ timeoutMs: 10_000, waitMs: 60_000 });
const checker = createSchemaChecker({ timeoutMs: 300, waitMs: 60_000 });
afterAll(async () => {
  await patient[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

/** What it costs to start a thread in the place of one that was ended. */
const threadMs = 25;

const properties = (of: Record<string, unknown>) => ({
  type: 'object',
  properties: of,
  additionalProperties: false,
});
const listOf = (items: unknown) => properties({ items: { type: 'array', items } });
const tooLong = [{ path: 'params', message: expect.stringContaining('take longer') as string }];

/** Nested ways to fit, each of which looks at every member of the value. */
const nested = properties({
  value: {
    anyOf: Array.from({ length: 40 }, (_, outer) => ({
      anyOf: Array.from({ length: 10 }, (_, inner) => ({
        type: 'object',
        additionalProperties: { const: `${outer} ${inner}` },
        required: [`name_${outer}_${inner}`],
      })),
    })),
  },
});
const wide = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key_${index}`, index]));

describe('checking a value against a schema that anybody may have written', () => {
  test('is done at once where both are small', () => {
    const check = checker.compile(properties({ name: { type: 'string', pattern: '^[a-z]+$' } }));

    expect(check({ name: 'ann' }, 'ann')).toEqual([]);
    expect(check({ name: 'Ann' }, 'ann')).toMatchObject([{ path: 'name' }]);
  });

  test.for<[what: string, schema: object, valid: object, invalid: object]>([
    [
      'an expression that could go back for long',
      properties({ name: { type: 'string', pattern: '^([a-z]+,?)+$' } }),
      { name: 'ann,bob' },
      { name: 'A' },
    ],
    [
      'a long list',
      listOf({ type: 'string', maxLength: 3 }),
      { items: Array(9_000).fill('abc') },
      { items: [...Array(9_000).fill('abc'), 'abcd'] },
    ],
    ['many ways to fit', nested, {}, { value: wide(2_000) }],
    [
      'a schema of many parts',
      properties(
        Object.fromEntries(Object.keys(wide(300)).map((key) => [key, { type: 'integer' }])),
      ),
      wide(300),
      { key_7: 'x' },
    ],
  ])('%s has the same outcome elsewhere', async ([, schema, valid, invalid]) => {
    const check = patient.compile(schema as Record<string, unknown>);

    expect(check(invalid, 'ann')).toBeInstanceOf(Promise);
    expect(await check(valid, 'ann')).toEqual([]);
    expect(await check(invalid, 'ann')).toHaveLength(1);
  });

  test('ends with a sentence where the deadline passes, and others go on', async () => {
    const check = checker.compile(listOf({ type: 'string', pattern: '^(a+)+$' }));
    const hostile = { items: Array<string>(60).fill(`${'a'.repeat(60)}!`) };

    const others = checker.compile(listOf({ type: 'string', pattern: '^(b+,?)+$' }));
    const [late, ...rest] = await Promise.all([
      check(hostile, 'mallory'),
      check(hostile, 'mallory'),
      ...Array.from({ length: 5 }, () => others({ items: ['b,b'] }, 'ann')),
    ]);

    expect(late).toEqual(tooLong);
    expect(rest.slice(1)).toEqual([[], [], [], [], []]);
  });

  test('says so where no validator can be made', async () => {
    const deep = (levels: number): object =>
      levels === 0 ? { type: 'string' } : { type: 'array', items: deep(levels - 1) };

    await expect(patient.compile(properties({ a: deep(3_000) }))({ a: [] }, 'ann')).rejects.toThrow(
      expect.objectContaining({ code: 'template_invalid' }),
    );
  });

  test.for<[what: string, schema: object, value: object]>([
    [
      '9,000 texts and an expression that goes back for long',
      listOf({ type: 'string', pattern: '^([a-z0-9]+\\.?)+@x$' }),
      { items: Array(9_000).fill(`${'a'.repeat(30)}!`) },
    ],
    [
      'a text and an expression of sixty optional parts',
      properties({ a: { type: 'string', pattern: `^${'a?'.repeat(60)}${'a'.repeat(60)}b$` } }),
      { a: 'a'.repeat(60) },
    ],
    ['an object of 3,000 names and 400 ways to fit', nested, { value: wide(3_000) }],
    [
      '20,000 texts in a format whose expression goes back',
      listOf({ type: 'string', format: 'email' }),
      { items: Array(20_000).fill(`${'a-'.repeat(20)}@`) },
    ],
    [
      'a text of a million characters and fifty limits of length',
      properties({
        a: { anyOf: Array.from({ length: 30 }, () => ({ type: 'string', maxLength: 9 })) },
      }),
      { a: 'x'.repeat(1_000_000) },
    ],
  ])('%s cost this thread little more than reading them', async ([, schema, value]) => {
    const check = checker.compile(schema as Record<string, unknown>);
    // Compiled, and all that is waited for.
    await check(value, 'ann');
    const before = process.threadCpuUsage();
    for (let run = 0; run < 3; run += 1) await check(value, 'ann');
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 3_000;

    expect(ms).toBeLessThan(threadMs + allowedMsOf(JSON.stringify(value)));
  });

  test('is refused, and not begun, once nobody waits for it any more', async () => {
    await using brief = createSchemaChecker({ timeoutMs: 300, workers: 2, waitMs: 700 });
    const check = brief.compile(properties({ value: { type: 'string', pattern: '^(a+)+$' } }));
    const slow = { value: `${'a'.repeat(40)}!` };
    const endings = await Promise.all(
      Array.from({ length: 12 }, async () => {
        try {
          await check(slow, 'ann');
          return 'checked';
        } catch (error) {
          return (error as { code?: string }).code;
        }
      }),
    );

    expect(endings.filter((ending) => ending === 'unavailable').length).toBeGreaterThan(6);
  });
});
