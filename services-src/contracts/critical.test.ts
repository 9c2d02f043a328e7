import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { executor } from './bus/executor.ts';
import { policy } from './bus/policy.ts';
import { narrowing, takeCritical, withCritical } from './critical.ts';

const options = z.strictObject({ filter: z.string(), max_bytes: narrowing(z.int()).optional() });
const request = z.strictObject({
  options,
  steps: z
    .array(
      z.discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('read') }),
        z.strictObject({ kind: z.literal('write'), once: narrowing(z.boolean()).nullable() }),
      ]),
    )
    .optional(),
});
const earlierSchema = z.strictObject({ options: options.omit({ max_bytes: true }) });

describe('the list `crit` of a request', () => {
  test('names the members that are present and narrow what may happen', () => {
    const value = {
      options: { filter: '.', max_bytes: 5 },
      steps: [{ kind: 'write', once: true }],
    };
    expect(withCritical(request, value)).toEqual({
      ...value,
      crit: ['options.max_bytes', 'steps.once'],
    });
  });

  test.for([
    [{ options: { filter: '.' } }],
    [{ options: { filter: '.', max_bytes: undefined }, steps: [] }],
    [{ options: { filter: '.' }, steps: [{ kind: 'read' }, { kind: 'write', once: null }] }],
  ])('is left out of a request without such a member: %j', ([value]) => {
    expect(withCritical(request, value)).toBe(value);
  });

  test('leaves out a member that merely has the same schema as a narrowing member', () => {
    const name = z.string();
    const named = z.strictObject({ name, only: narrowing(name).optional() });
    expect(withCritical(named, { name: 'a', only: 'b' })).toHaveProperty('crit', ['only']);
  });

  test('is removed by a reader of the same release, which knows all names in it', () => {
    const value = { options: { filter: '.', max_bytes: 5 } };
    expect(takeCritical(request, withCritical(request, value))).toEqual({
      unknown: [],
      rest: value,
    });
  });

  test('contains an unknown name for a reader of an earlier release', () => {
    const value = withCritical(request, { options: { filter: '.', max_bytes: 5 } });
    expect(takeCritical(earlierSchema, value).unknown).toEqual(['options.max_bytes']);
  });

  test.for([['options'], [{ name: 'options' }], [[{ name: 'options' }]], [[...Array(51).keys()]]])(
    'counts as one unknown name when it is malformed: %j',
    ([crit]) => {
      expect(takeCritical(request, { options: {}, crit }).unknown).toEqual(['crit']);
    },
  );
});

test('a call that signs by a secret is refused by releases that would send the secret itself', () => {
  const secret = { name: 'aws', in: 'header', key: 'Authorization' };
  const sign = { type: 'aws_sigv4', service: 's3', region: 'eu-west-1' };
  const requestOf = (secrets: object[]) => ({ call: { kind: 'http', service: 'http', secrets } });
  for (const { request: schema } of [policy.endpoints.decide, executor.endpoints.execute]) {
    expect(withCritical(schema, requestOf([{ ...secret, sign }]))).toHaveProperty('crit', [
      'call.secrets.sign',
    ]);
    expect(withCritical(schema, requestOf([secret]))).not.toHaveProperty('crit');
  }
});
