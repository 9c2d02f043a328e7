import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { actionPath } from '#templates';
import { compileValidator } from '../../test/support/check-params.ts';
import { allowedMsOf, cpuMsOf } from '../../test/support/cpu.ts';
import { withDefaults } from './action-params.ts';
import { actionOf, github, paramOf } from './action.testing.ts';
import { findUnfaithful } from './plain-json.ts';
import { sentQuery } from './sent-query.ts';

type Params = Record<string, JsonValue>;

const schemaOf = (properties: Record<string, JsonValue>, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const issuesOf = (properties: Record<string, JsonValue>, params: Params, required: string[] = []) =>
  compileValidator(schemaOf(properties, required))(params);

describe('compileValidator', () => {
  const validate = compileValidator(github.createIssue.paramsSchema);
  const valid = { owner: 'acme', repo: 'site', title: 'Broken' };

  test('valid params have no issues', () => {
    expect(validate({ ...valid, labels: ['bug'] })).toEqual([]);
  });

  test('a missing one is named with its type', () => {
    expect(validate({ owner: 'acme', repo: 'site' })).toEqual([
      { path: 'title', message: 'is required', expected: 'string' },
    ]);
  });

  test('a mistyped name gets a hint from both sides', () => {
    expect(validate({ owner: 'acme', repo: 'site', titel: 'x' })).toEqual([
      { path: 'title', message: 'is required; "titel" is not a parameter', expected: 'string' },
      { path: 'titel', message: 'is not a parameter of this action', did_you_mean: 'title' },
    ]);
  });

  test('a name that is already given is no hint', () => {
    expect(validate({ ...valid, titles: 'x' })).toEqual([
      { path: 'titles', message: 'is not a parameter of this action' },
    ]);
  });

  test('a wrong type inside a list is found where it is', () => {
    expect(validate({ ...valid, labels: ['bug', 7] })).toEqual([
      { path: 'labels.1', message: 'has the wrong type', expected: 'string' },
    ]);
  });

  test('nothing is coerced', () => {
    expect(issuesOf({ count: { type: 'integer' } }, { count: '7' })).toEqual([
      { path: 'count', message: 'has the wrong type', expected: 'integer' },
    ]);
  });

  test('a value that is not allowed gets the nearest that is', () => {
    expect(issuesOf({ state: { enum: ['open', 'closed'] } }, { state: 'close' })).toEqual([
      {
        path: 'state',
        message: 'is not one of the allowed values',
        expected: 'one of "open", "closed"',
        did_you_mean: 'closed',
      },
    ]);
  });

  test('alternatives are summed up', () => {
    const schema = { anyOf: [{ type: 'string' }, { type: 'integer' }] };

    expect(issuesOf({ id: schema }, { id: true })).toEqual([
      { path: 'id', message: 'fits none of the forms it may have', expected: 'string or integer' },
    ]);
  });

  test.for<[format: string, value: JsonValue, isValid: boolean]>([
    ['date-time', '2026-01-31T12:00:00Z', true],
    ['date-time', 'yesterday', false],
    ['email', 'a@b.example', true],
    ['email', `a@${'a-'.repeat(50_000)}`, false],
    ['int32', 2 ** 31, false],
    ['int64', 7, true],
    ['byte', 'A'.repeat(8000), true],
    ['no-such-format', 'x', true],
  ])('format %s of %s', ([format, value, isValid]) => {
    const type = typeof value === 'number' ? 'integer' : 'string';

    expect(issuesOf({ value: { type, format } }, { value }).length === 0).toBe(isValid);
  });

  test('duplicates are found, among many large items too', () => {
    const items = Array.from({ length: 20_000 }, (_, index) => ({ index, text: 'x' }));
    const properties = { items: { type: 'array', uniqueItems: true } };

    expect(issuesOf(properties, { items })).toEqual([]);
    expect(issuesOf(properties, { items: [...items, { text: 'x', index: 0 }] })).toHaveLength(1);
  });

  test('names of the prototype are no parameters', () => {
    const params = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}') as Params;

    expect(
      issuesOf({}, params)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['__proto__', 'constructor', 'toString']);
  });

  test('what every object inherits is not given', () => {
    const text = { type: 'string' };

    expect(issuesOf({ toString: text, valueOf: text }, {})).toEqual([]);
    expect(issuesOf({ toString: text }, {}, ['toString'])).toEqual([
      expect.objectContaining({ path: 'toString', message: 'is required' }),
    ]);
  });

  test('a pattern is read as it was meant where Unicode mode would not have it', () => {
    const pattern = '^[\\w-.]+\\_x$';

    expect(issuesOf({ a: { type: 'string', pattern } }, { a: 'a-b.c_x' })).toEqual([]);
    expect(issuesOf({ a: { type: 'string', pattern } }, { a: 'a b_x' })).toHaveLength(1);
  });

  test('at most twenty issues are told', () => {
    const params = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, 1]));

    expect(issuesOf({}, params)).toHaveLength(20);
  });
});

describe('the cost of checking params', () => {
  const schema = github.createIssue.paramsSchema;
  const valid = { owner: 'acme', repo: 'site', title: 'Broken' };
  const wide = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`name_${index}`, 1]));

  test.for<[what: string, params: Params]>([
    ['a list of 500,000 values of the wrong type', { labels: Array<number>(500_000).fill(0) }],
    ['60,000 names that the action does not have', wide(60_000)],
    ['60,000 such names and none that it needs', { ...valid, ...wide(60_000) }],
    ['a name that is long', { ['t'.repeat(1_000_000)]: 1 }],
  ])('%s is little more than reading them', ([, params]) => {
    const validate = compileValidator(schema);

    expect(validate(params).length).toBeGreaterThan(0);
    expect(cpuMsOf(() => validate(params))).toBeLessThan(allowedMsOf(JSON.stringify(params)));
  });

  test('a choice of many values is told as far as there is room', () => {
    const choice = { enum: Array.from({ length: 5_000 }, (_, index) => `value ${index}`) };
    const items = { items: { type: 'array', items: choice } };

    const [issue] = issuesOf(items, { items: Array<string>(30).fill('valeu 17') });

    expect(issue?.expected?.length).toBeLessThanOrEqual(520);
    expect(issue?.did_you_mean).toBe('value 17');
  });
});

describe('sentQuery', () => {
  test('keeps every value of a repeated name, in order', () => {
    const pairs: [string, string][] = [
      ['a', '1'],
      ['b', ''],
      ['a', '2'],
      ['a', ''],
      ['__proto__', 'x'],
    ];

    expect(Object.entries(sentQuery(pairs))).toEqual([
      ['a', ['1', '2', '']],
      ['b', ''],
      ['__proto__', 'x'],
    ]);
  });

  test('300,000 values of one name cost little more than reading them', () => {
    const values = Array<string>(300_000).fill('');
    const pairs = () => values.map((value): [string, string] => ['a', value]);

    expect(cpuMsOf(() => sentQuery(pairs()))).toBeLessThan(
      allowedMsOf(JSON.stringify({ a: values })),
    );
  });
});

describe('findUnfaithful', () => {
  test.for<[name: string, value: JsonValue, paths: string[]]>([
    ['the largest safe integer', { id: Number.MAX_SAFE_INTEGER }, []],
    ['an integer beyond it', JSON.parse('{"id": 12345678901234567890}') as JsonValue, ['id']],
    ['a negative one, inside', { a: [{ b: -(2 ** 60) }] }, ['a.0.b']],
    ['a fraction', { price: 1.5e-7 }, []],
    ['a lone surrogate', { text: 'a\ud800' }, ['text']],
    ['a pair', { text: '😀' }, []],
  ])('%s', ([, value, paths]) => {
    expect(findUnfaithful(value, '').map(({ path }) => path)).toEqual(paths);
  });

  test('a value nested without end is refused, not walked', () => {
    const deep = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) as JsonValue;

    expect(findUnfaithful(deep, 'body')).toHaveLength(1);
  });
});

describe('actionPath', () => {
  test.for<[name: string, value: JsonValue, path: string]>([
    ['a slash is data', 'a/b', '/users/a%2Fb'],
    ['so are other characters', 'a b%?#', '/users/a%20b%25%3F%23'],
    ['a number', 7, '/users/7'],
  ])('%s', ([, value, path]) => {
    expect(actionPath(github.getUser, { name: value })).toBe(path);
  });

  test.for<JsonValue>(['.', '..', 'a/..', '..\\b', '', null])('refuses %j', (value) => {
    expect(() => actionPath(github.getUser, { name: value })).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });

  test('a parameter that may hold slashes keeps them, without dot segments', () => {
    const action = actionOf('files.get', {
      path: '/files/{path}',
      params: [paramOf('path', 'path', { allowReserved: true })],
    });

    expect(actionPath(action, { path: 'a/b c' })).toBe('/files/a/b%20c');
    expect(() => actionPath(action, { path: 'a/../b' })).toThrow(/"\.\."/);
  });

  test('a path longer than any server takes is refused before it is written', () => {
    expect(() => actionPath(github.getUser, { name: 'a'.repeat(8_192) })).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });

  test('defaults are filled in, and what is given stays', () => {
    const action = actionOf('x', {
      params: [paramOf('a', 'query', { schema: { default: 1 } }), paramOf('b', 'query')],
    });

    expect(withDefaults(action, {})).toEqual({ a: 1 });
    expect(withDefaults(action, { a: 2 })).toEqual({ a: 2 });
  });
});

describe('patterns of several schemas', () => {
  test('are each checked against their own text', () => {
    const withPattern = (pattern: string) =>
      compileValidator({
        type: 'object',
        properties: { value: { type: 'string', pattern } },
        additionalProperties: false,
      });
    const first = withPattern('^a$');
    const second = withPattern('^b$');

    expect(first({ value: 'a' })).toEqual([]);
    expect(second({ value: 'b' })).toEqual([]);
    expect(second({ value: 'a' })).not.toEqual([]);
  });
});
