import { expect, test } from 'vitest';

import type { SearchRow } from '#contracts/http/search';
import { fitSchema, fitSchemas } from './fit-schemas.ts';

const row: SearchRow = {
  service: 'adyen',
  template: 'adyen',
  action: 'create_payment',
  description: 'Create a payment',
  risk: 'write',
  score: 1,
  requires_approval: true,
  auth: { type: 'secret', connected: true },
};
const actionOfSize = (size: number) => ({
  params: [{ name: 'amount' }] as never,
  paramsSchema: { type: 'object', description: 'x'.repeat(size) },
});

test('a result whose schema would make the answer larger than 8 KB has the names of its parameters instead', () => {
  const rows = fitSchemas(
    [row, row, row],
    [actionOfSize(48_000), actionOfSize(3_000), actionOfSize(6_000)],
    8_192,
  );

  expect(rows.map((each) => 'params_schema' in each)).toEqual([false, true, false]);
  expect(rows.map(({ params }) => params)).toEqual([['amount'], undefined, ['amount']]);
  expect(Buffer.byteLength(JSON.stringify(rows))).toBeLessThanOrEqual(8_192);
});

test('the schema of one action is cut at its deepest levels until it fits, and its result then also has the names of the parameters', () => {
  const createDeepSchema = (levels: number): object =>
    levels === 0
      ? { description: 'x'.repeat(9_000) }
      : { type: 'object', properties: { inner: createDeepSchema(levels - 1) } };
  const params = [{ name: 'amount' }] as never;
  const paramsSchema = { type: 'object', properties: { amount: createDeepSchema(3) } } as never;

  const cutRow = fitSchema(row, { params, paramsSchema }, 8_192);
  expect(cutRow).toMatchObject({
    params: ['amount'],
    params_schema: { properties: { amount: { type: 'object', properties: { inner: {} } } } },
  });
  expect(Buffer.byteLength(JSON.stringify(cutRow))).toBeLessThanOrEqual(8_192);

  const wholeRow = fitSchema(row, actionOfSize(6_000), 8_192);
  expect(wholeRow).toMatchObject({ params_schema: { type: 'object' } });
  expect(wholeRow).not.toHaveProperty('params');
});
