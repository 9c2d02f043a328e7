import { describe, expect, test } from 'vitest';

import { countOmitted, fieldsOf, toParams } from './params-view.ts';

const schema = {
  type: 'object',
  required: ['title'],
  properties: {
    labels: { type: 'array', items: { type: 'string' } },
    title: { type: 'string', description: 'What it is about' },
    body: { type: ['string', 'null'] },
    count: { type: 'integer', default: 30 },
    ratio: { type: 'number' },
    draft: { type: 'boolean' },
    state: { enum: ['open', 'closed', 3] },
    rows: { type: 'array', items: { type: 'object' } },
    any: { anyOf: [{ type: 'string' }, { type: 'number' }] },
  },
};
const fields = fieldsOf(schema);
const problemsOf = (entered: Record<string, string>) => {
  const read = toParams(fields, { title: 'Hello', ...entered });
  return 'problems' in read ? read.problems : {};
};

describe('the form of an action', () => {
  test('has a field for each parameter, the required ones first', () => {
    expect(fields.map(({ name, kind }) => `${name}: ${kind}`)).toEqual([
      'title: text',
      'labels: list',
      'body: long_text',
      'count: number',
      'ratio: number',
      'draft: boolean',
      'state: choice',
      'rows: json',
      'any: json',
    ]);
    expect(fields.find(({ name }) => name === 'count')?.placeholder).toBe('30');
  });

  test('reads each value by its kind, and leaves out empty fields', () => {
    const entered = {
      title: 'Hello',
      labels: 'bug\n\nui',
      body: ' ',
      count: '3',
      ratio: '0.5',
      draft: 'false',
      state: '3',
      rows: '[{"a":1}]',
      any: '"x"',
    };
    expect(toParams(fields, entered)).toEqual({
      params: {
        title: 'Hello',
        labels: ['bug', 'ui'],
        count: 3,
        ratio: 0.5,
        draft: false,
        state: 3,
        rows: [{ a: 1 }],
        any: 'x',
      },
    });
  });

  test('shows beside a field what is wrong with its value', () => {
    expect(toParams(fields, {})).toEqual({ problems: { title: 'This must be given.' } });
    expect(problemsOf({ count: '1.5' })['count']).toContain('whole number');
    expect(problemsOf({ count: '9007199254740993' })['count']).toContain('whole number');
    expect(problemsOf({ ratio: 'many' })['ratio']).toContain('a number');
    expect(problemsOf({ state: 'ajar' })['state']).toContain('list');
    expect(problemsOf({ rows: '{' })['rows']).toContain('JSON');
  });

  test('has a limited number of fields, and accepts any schema', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 250 }, (_, index) => [`p${index}`, { type: 'string' }]),
    );
    expect(fieldsOf({ properties })).toHaveLength(200);
    expect(countOmitted({ properties })).toBe(50);
    for (const odd of [null, undefined, [], 'x', { properties: [] }, { properties: { a: null } }]) {
      expect(() => fieldsOf(odd)).not.toThrow();
    }
  });

  test('treats parameter names such as `__proto__` as ordinary names', () => {
    const properties = JSON.parse(
      '{"__proto__": {"type": "string"}, "toString": {"type": "string"}}',
    );
    const odd = fieldsOf({ properties });
    const read = toParams(odd, JSON.parse('{"__proto__": "a", "toString": "b"}'));
    expect(JSON.stringify(read)).toBe('{"params":{"__proto__":"a","toString":"b"}}');
  });
});
