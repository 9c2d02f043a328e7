import { afterAll, describe, expect, test } from 'vitest';

import { allowedMsOf } from '../../test/support/cpu.ts';
import { chooseSweepValue } from '../../test/support/sweeps.ts';
import { createSchemaChecker } from './checker.ts';

const patientChecker = createSchemaChecker({ timeoutMs: 10_000, waitMs: 60_000 });
const checker = createSchemaChecker({ timeoutMs: 300, waitMs: 60_000 });
afterAll(async () => {
  await patientChecker[Symbol.asyncDispose]();
  await checker[Symbol.asyncDispose]();
});

/** About how long it takes to start a thread that replaces a terminated one, in ms. */
const threadMs = 25;

const createObjectSchema = (of: Record<string, unknown>) => ({
  type: 'object',
  properties: of,
  additionalProperties: false,
});
const createListSchema = (items: unknown) =>
  createObjectSchema({ items: { type: 'array', items } });
const tooLong = [{ path: 'params', message: expect.stringContaining('take longer') as string }];

/** Nested alternatives; each alternative looks at every member of the value. */
const nested = createObjectSchema({
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
const createWideObject = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key_${index}`, index]));

type SlowCase = readonly [what: string, schema: object, value: object];
/** Checks that take until their deadline. */
const slowCases: readonly SlowCase[] = [
  [
    '9,000 texts and a regular expression that backtracks for long',
    createListSchema({ type: 'string', pattern: '^([a-z0-9]+\\.?)+@x$' }),
    { items: Array(9_000).fill(`${'a'.repeat(30)}!`) },
  ],
  [
    'a text and a regular expression of sixty optional parts',
    createObjectSchema({
      a: { type: 'string', pattern: `^${'a?'.repeat(60)}${'a'.repeat(60)}b$` },
    }),
    { a: 'a'.repeat(60) },
  ],
];

describe('the check of a value against an untrusted schema', () => {
  test('runs at once when the schema and the value are small', () => {
    const check = checker.compile(
      createObjectSchema({ name: { type: 'string', pattern: '^[a-z]+$' } }),
    );

    expect(check({ name: 'ann' }, 'ann')).toEqual([]);
    expect(check({ name: 'Ann' }, 'ann')).toMatchObject([{ path: 'name' }]);
  });

  test.for<[what: string, schema: object, valid: object, invalid: object]>([
    [
      'a regular expression that could backtrack for long',
      createObjectSchema({ name: { type: 'string', pattern: '^([a-z]+,?)+$' } }),
      { name: 'ann,bob' },
      { name: 'A' },
    ],
    [
      'a long list',
      createListSchema({ type: 'string', maxLength: 3 }),
      { items: Array(9_000).fill('abc') },
      { items: [...Array(9_000).fill('abc'), 'abcd'] },
    ],
    ['nested alternatives', nested, {}, { value: createWideObject(2_000) }],
    [
      'a schema with many properties',
      createObjectSchema(
        Object.fromEntries(
          Object.keys(createWideObject(300)).map((key) => [key, { type: 'integer' }]),
        ),
      ),
      createWideObject(300),
      { key_7: 'x' },
    ],
  ])('with %s runs on a worker thread with the same result', async ([, schema, valid, invalid]) => {
    const check = patientChecker.compile(schema as Record<string, unknown>);

    expect(check(invalid, 'ann')).toBeInstanceOf(Promise);
    expect(await check(valid, 'ann')).toEqual([]);
    expect(await check(invalid, 'ann')).toHaveLength(1);
  });

  test('fails with a readable message when its deadline passes, and other checks continue', async () => {
    const check = checker.compile(createListSchema({ type: 'string', pattern: '^(a+)+$' }));
    const hostile = { items: Array<string>(60).fill(`${'a'.repeat(60)}!`) };

    const checkOthers = checker.compile(createListSchema({ type: 'string', pattern: '^(b+,?)+$' }));
    const [late, ...rest] = await Promise.all([
      check(hostile, 'mallory'),
      check(hostile, 'mallory'),
      ...Array.from({ length: 5 }, () => checkOthers({ items: ['b,b'] }, 'ann')),
    ]);

    expect(late).toEqual(tooLong);
    expect(rest.slice(1)).toEqual([[], [], [], [], []]);
  });

  test('fails with a readable message when the schema cannot be compiled', async () => {
    const createDeepSchema = (levels: number): object =>
      levels === 0 ? { type: 'string' } : { type: 'array', items: createDeepSchema(levels - 1) };

    await expect(
      patientChecker.compile(createObjectSchema({ a: createDeepSchema(3_000) }))({ a: [] }, 'ann'),
    ).rejects.toThrow(expect.objectContaining({ code: 'template_invalid' }));
  });

  test.for<SlowCase>([
    ...chooseSweepValue<readonly SlowCase[]>({ sampled: [], whole: slowCases }),
    [
      'an object with 3,000 members and 400 alternatives',
      nested,
      { value: createWideObject(3_000) },
    ],
    [
      '20,000 texts in a format whose regular expression backtracks',
      createListSchema({ type: 'string', format: 'email' }),
      { items: Array(20_000).fill(`${'a-'.repeat(20)}@`) },
    ],
    [
      'a text of a million characters and fifty limits of length',
      createObjectSchema({
        a: { anyOf: Array.from({ length: 30 }, () => ({ type: 'string', maxLength: 9 })) },
      }),
      { a: 'x'.repeat(1_000_000) },
    ],
  ])(
    'with %s costs the main thread little more than parsing the value',
    async ([, schema, value]) => {
      const check = checker.compile(schema as Record<string, unknown>);
      // The first check also compiles the schema, so it is not measured.
      await check(value, 'ann');
      // The minimum of several runs, because garbage collection and cold caches only add time.
      let leastMs = Number.POSITIVE_INFINITY;
      for (let run = 0; run < 5; run += 1) {
        const usageBefore = process.threadCpuUsage();
        await check(value, 'ann');
        const { user, system } = process.threadCpuUsage(usageBefore);
        leastMs = Math.min(leastMs, (user + system) / 1_000);
      }

      expect(leastMs).toBeLessThan(3 * (threadMs + allowedMsOf(JSON.stringify(value))));
    },
  );

  test('fails as unavailable without starting when it has waited too long for a thread', async () => {
    await using brief = createSchemaChecker({ timeoutMs: 300, workers: 2, waitMs: 700 });
    const check = brief.compile(
      createObjectSchema({ value: { type: 'string', pattern: '^(a+)+$' } }),
    );
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
