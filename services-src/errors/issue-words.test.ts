import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';

// Loading the errors sets the words for the whole process.
beforeAll(() => import('./index.ts'));

test.each<[z.ZodType, unknown, string]>([
  [z.int().max(60), 61, 'must be at most 60'],
  [z.int().min(5), 1, 'must be at least 5'],
  [z.number().gt(1), 1, 'must be more than 1'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.int(), 'a', 'must be a number'],
  [z.number().multipleOf(2), 3, 'must be a multiple of 2'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().max(1), 'ab', 'must have at most 1 character'],
  [z.array(z.int()).max(3), [1, 2, 3, 4], 'must have at most 3 items'],
  [z.array(z.int()).min(1), [], 'must not be empty'],
  [z.string().regex(/^a/), 'b', 'must match the pattern /^a/'],
  [z.url(), 'b', 'must be a URL such as https://example.com/path'],
  [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  [z.strictObject({}), { CANARY: 1 }, 'has a field that is not known'],
  [z.union([z.int(), z.boolean()]), 'x', 'is not valid'],
  [z.record(z.string().max(2), z.int()), { abc: 1 }, 'is a name that is not allowed here'],
  [z.string().regex(/^a/, 'must begin with a'), 'b', 'must begin with a'],
  [z.string().refine(() => false, 'is taken'), 'b', 'is taken'],
])('%#: the message of a schema is plain English', (schema, value, words) => {
  expect(schema.safeParse(value).error?.issues[0]?.message).toBe(words);
});

test('a long pattern and a long list of values are cut', () => {
  const values = Array.from({ length: 500 }, (_, at) => `value_${at}`);
  const message = (schema: z.ZodType) => schema.safeParse('-').error?.issues[0]?.message ?? '';
  expect(message(z.enum(values as [string]))).not.toContain('value_20');
  expect(message(z.string().regex(new RegExp(`^${'a'.repeat(5_000)}$`))).length).toBeLessThan(200);
});
