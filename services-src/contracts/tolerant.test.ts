import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { busContracts } from './all.ts';
import { decisionStatement } from './decision.ts';
import { clientGone, event, feedItem } from './events.ts';
import { gap, permit } from './permit.ts';
import { arbitraryOf, withAddedMembers } from './schema-values.testing.ts';
import { readTolerantly, deriveTolerantSchema } from './tolerant.ts';
import { principal } from './vocabulary.ts';

const schemas: [name: string, schema: z.ZodType][] = [
  ...Object.values(busContracts).flatMap(({ owner, endpoints }) =>
    Object.entries(endpoints).flatMap(([name, { request, response }]): [string, z.ZodType][] => [
      [`the request of ${owner}.${name}`, request],
      [`the answer of ${owner}.${name}`, response],
    ]),
  ),
  ...Object.entries({ event, feedItem, clientGone, principal, permit, gap, decisionStatement }),
];

describe('the tolerant schema, which reads data of other releases', () => {
  test.for(schemas)(
    'accepts everything that %s accepts, even with members that were added',
    ([, schema]) => {
      const [refusing, passing] = [
        deriveTolerantSchema(schema, 'refuse'),
        deriveTolerantSchema(schema, 'pass'),
      ];
      fc.assert(
        fc.property(arbitraryOf(schema), (value) => {
          const strictResult = schema.safeParse(value);
          expect(strictResult.error).toBeUndefined();
          for (const reader of [refusing, passing]) {
            expect(reader.safeParse(value).error).toBeUndefined();
            expect(reader.safeParse(withAddedMembers(schema, value)).error).toBeUndefined();
          }
          const readResult = readTolerantly(schema, withAddedMembers(schema, value));
          expect(readResult.success && readResult.data).toEqual(strictResult.data);
        }),
        { numRuns: 5, seed: 1 },
      );
    },
  );

  const call = z.strictObject({
    risk: z.enum(['read', 'write']),
    target: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('action'), action: z.string() }),
      z.strictObject({ kind: z.enum(['raw', 'verb']), url: z.string() }),
    ]),
    tags: z.array(z.strictObject({ name: z.string() })).optional(),
  });
  const target = { kind: 'raw', url: 'x' };

  test('drops added members at every depth', () => {
    expect(
      readTolerantly(call, {
        risk: 'read',
        target: { ...target, port: 1 },
        tags: [{ name: 'a', colour: 'red' }],
        added: [],
      }),
    ).toEqual({
      success: true,
      data: { risk: 'read', target, tags: [{ name: 'a' }] },
      isOfOtherRelease: true,
    });
  });

  test('accepts an unknown value of an enum only for a reader that passes it on', () => {
    const value = { risk: 'launch', target };
    expect(readTolerantly(call, value).success).toBe(false);
    expect(readTolerantly(call, value, 'pass')).toMatchObject({ data: value });
    const tooLong = { risk: 'x'.repeat(101), target };
    expect(readTolerantly(call, tooLong, 'pass').success).toBe(false);
  });

  test('refuses an unknown variant of a discriminated union', () => {
    for (const kind of ['file', 1]) {
      const value = { risk: 'read', target: { kind, url: 'x' } };
      expect(readTolerantly(call, value, 'pass').success).toBe(false);
    }
  });

  test('refuses a missing member and a member of the wrong type', () => {
    expect(readTolerantly(call, { target }, 'pass').success).toBe(false);
    expect(readTolerantly(call, { risk: 'read', target, tags: {} }, 'pass').success).toBe(false);
  });

  test('keeps the limits and other checks of the schema', () => {
    const bounded = z.strictObject({ name: z.string().max(2) }).refine(({ name }) => name !== 'no');
    expect(readTolerantly(bounded, { name: 'abc', added: 1 }).success).toBe(false);
    expect(readTolerantly(bounded, { name: 'no', added: 1 }).success).toBe(false);
    expect(readTolerantly(bounded, { name: 'ab', added: 1 }).success).toBe(true);
  });
});
