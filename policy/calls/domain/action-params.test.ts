import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { actionPath } from '#templates';
import { compileValidator } from '../../../test/support/check-params.ts';
import { allowedMsOf, cpuMsOf } from '../../../test/support/cpu.ts';
import { actionOf, github, paramOf } from '../../action.testing.ts';
import { withDefaults } from './action-params.ts';
import { findUnfaithfulValues } from './plain-json.ts';

type Params = Record<string, JsonValue>;

const schemaOf = (properties: Record<string, JsonValue>, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const issuesOf = (properties: Record<string, JsonValue>, params: Params, required: string[] = []) =>
  compileValidator(schemaOf(properties, required))(params);

describe("the check of a call's parameters (compileValidator)", () => {
  const validate = compileValidator(github.createIssue.paramsSchema);
  const validParams = { owner: 'acme', repo: 'site', title: 'Broken' };

  test('finds no issues in valid params', () => {
    expect(validate({ ...validParams, labels: ['bug'] })).toEqual([]);
  });

  test('names a missing parameter and its type', () => {
    expect(validate({ owner: 'acme', repo: 'site' })).toEqual([
      { path: 'title', message: 'is required', expected: 'string' },
    ]);
  });

  test('suggests the right name for a mistyped parameter', () => {
    expect(validate({ owner: 'acme', repo: 'site', titel: 'x' })).toEqual([
      { path: 'title', message: 'is required; "titel" is not a parameter', expected: 'string' },
      { path: 'titel', message: 'is not a parameter of this action', did_you_mean: 'title' },
    ]);
  });

  test('does not suggest the name of a parameter that is already given', () => {
    expect(validate({ ...validParams, titles: 'x' })).toEqual([
      { path: 'titles', message: 'is not a parameter of this action' },
    ]);
  });

  test('reports a wrong type inside a list with its position', () => {
    expect(validate({ ...validParams, labels: ['bug', 7] })).toEqual([
      { path: 'labels.1', message: 'has the wrong type', expected: 'string' },
    ]);
  });

  test('does not convert values to the type of the schema', () => {
    expect(issuesOf({ count: { type: 'integer' } }, { count: '7' })).toEqual([
      { path: 'count', message: 'has the wrong type', expected: 'integer' },
    ]);
  });

  test('describes what a pattern requires with the wording of the schema', () => {
    const described = { type: 'string', pattern: '^[a-z]+/[a-z]+$', description: 'Owner and name' };
    expect(issuesOf({ repository: described }, { repository: 'x' })).toEqual([
      {
        path: 'repository',
        message: 'is not in the right form (^[a-z]+/[a-z]+$)',
        expected: 'Owner and name',
      },
    ]);
    const { description: _, ...bare } = described;
    expect(issuesOf({ repository: bare }, { repository: 'x' })).toMatchObject([
      { message: 'is not in the right form', expected: '^[a-z]+/[a-z]+$' },
    ]);
  });

  test('suggests the nearest allowed value', () => {
    expect(issuesOf({ state: { enum: ['open', 'closed'] } }, { state: 'close' })).toEqual([
      {
        path: 'state',
        message: 'is not one of the allowed values',
        expected: 'one of "open", "closed"',
        did_you_mean: 'closed',
      },
    ]);
  });

  test('summarises the alternatives of a schema', () => {
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
  ])('accepts for the format %s the value $1: $2', ([format, value, isValid]) => {
    const type = typeof value === 'number' ? 'integer' : 'string';

    expect(issuesOf({ value: { type, format } }, { value }).length === 0).toBe(isValid);
  });

  test('finds duplicate items, also among many large items', () => {
    const items = Array.from({ length: 20_000 }, (_, index) => ({ index, text: 'x' }));
    const properties = { items: { type: 'array', uniqueItems: true } };

    expect(issuesOf(properties, { items })).toEqual([]);
    expect(issuesOf(properties, { items: [...items, { text: 'x', index: 0 }] })).toHaveLength(1);
  });

  test('does not accept names of the object prototype as parameters', () => {
    const params = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}') as Params;

    expect(
      issuesOf({}, params)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['__proto__', 'constructor', 'toString']);
  });

  test('does not take inherited members for given parameters', () => {
    const text = { type: 'string' };

    expect(issuesOf({ toString: text, valueOf: text }, {})).toEqual([]);
    expect(issuesOf({ toString: text }, {}, ['toString'])).toEqual([
      expect.objectContaining({ path: 'toString', message: 'is required' }),
    ]);
  });

  test('accepts patterns that are invalid in Unicode mode', () => {
    const pattern = '^[\\w-.]+\\_x$';

    expect(issuesOf({ a: { type: 'string', pattern } }, { a: 'a-b.c_x' })).toEqual([]);
    expect(issuesOf({ a: { type: 'string', pattern } }, { a: 'a b_x' })).toHaveLength(1);
  });

  test('reports at most twenty issues', () => {
    const params = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, 1]));

    expect(issuesOf({}, params)).toHaveLength(20);
  });
});

describe('the check of very large parameters', () => {
  const schema = github.createIssue.paramsSchema;
  const validParams = { owner: 'acme', repo: 'site', title: 'Broken' };
  const createUndeclaredParams = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`name_${index}`, 1]));

  test.for<[what: string, params: Params]>([
    ['a list of 500,000 values of the wrong type', { labels: Array<number>(500_000).fill(0) }],
    ['60,000 names that the action does not have', createUndeclaredParams(60_000)],
    [
      '60,000 names that the action does not have, without those that it needs',
      { ...validParams, ...createUndeclaredParams(60_000) },
    ],
    ['a long name', { ['t'.repeat(1_000_000)]: 1 }],
  ])(
    'takes little more CPU time than parsing the parameters when they contain %s',
    ([, params]) => {
      const validate = compileValidator(schema);

      expect(validate(params).length).toBeGreaterThan(0);
      expect(cpuMsOf(() => validate(params))).toBeLessThan(allowedMsOf(JSON.stringify(params)));
    },
  );

  test('lists only as many allowed values as fit into the message', () => {
    const choice = { enum: Array.from({ length: 5_000 }, (_, index) => `value ${index}`) };
    const items = { items: { type: 'array', items: choice } };

    const [issue] = issuesOf(items, { items: Array<string>(30).fill('valeu 17') });

    expect(issue?.expected?.length).toBeLessThanOrEqual(520);
    expect(issue?.did_you_mean).toBe('value 17');
  });
});

describe('the search for values that JSON would change during sending (findUnfaithfulValues)', () => {
  test.for<[name: string, value: JsonValue, paths: string[]]>([
    ['the largest safe integer', { id: Number.MAX_SAFE_INTEGER }, []],
    [
      'an integer beyond the safe range',
      JSON.parse('{"id": 12345678901234567890}') as JsonValue,
      ['id'],
    ],
    [
      'a negative integer beyond the safe range, inside an object',
      { a: [{ b: -(2 ** 60) }] },
      ['a.0.b'],
    ],
    ['a fraction', { price: 1.5e-7 }, []],
    ['a lone surrogate', { text: 'a\ud800' }, ['text']],
    ['a surrogate pair', { text: '😀' }, []],
  ])('finds for %s these paths: $2', ([, value, paths]) => {
    expect(findUnfaithfulValues(value, '').map(({ path }) => path)).toEqual(paths);
  });

  test('refuses a value that is nested too deep, without visiting all of the value', () => {
    const deep = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) as JsonValue;

    expect(findUnfaithfulValues(deep, 'body')).toHaveLength(1);
  });
});

describe('the path of an action with its path parameters filled in (actionPath)', () => {
  test.for<[name: string, value: JsonValue, path: string]>([
    ['encodes a slash in a value', 'a/b', '/users/a%2Fb'],
    ['encodes other special characters in a value', 'a b%?#', '/users/a%20b%25%3F%23'],
    ['writes a number in digits', 7, '/users/7'],
  ])('%s', ([, value, path]) => {
    expect(actionPath(github.getUser, { name: value })).toBe(path);
  });

  test.for<JsonValue>(['.', '..', 'a/..', '..\\b', '', null])(
    'refuses the path parameter %j',
    (value) => {
      expect(() => actionPath(github.getUser, { name: value })).toThrow(
        expect.objectContaining({ code: 'invalid_params' }),
      );
    },
  );

  test('keeps slashes in a parameter that may contain them, and refuses dot segments', () => {
    const action = actionOf('files.get', {
      path: '/files/{path}',
      params: [paramOf('path', 'path', { allowReserved: true })],
    });

    expect(actionPath(action, { path: 'a/b c' })).toBe('/files/a/b%20c');
    expect(() => actionPath(action, { path: 'a/../b' })).toThrow(/"\.\."/);
  });

  test('refuses a path that is too long before building it', () => {
    expect(() => actionPath(github.getUser, { name: 'a'.repeat(8_192) })).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });

  test('fills in defaults and keeps given values', () => {
    const action = actionOf('x', {
      params: [paramOf('a', 'query', { schema: { default: 1 } }), paramOf('b', 'query')],
    });

    expect(withDefaults(action, {})).toEqual({ a: 1 });
    expect(withDefaults(action, { a: 2 })).toEqual({ a: 2 });
  });
});

describe('schemas with the same pattern', () => {
  test('are not mixed up when both schemas are compiled', () => {
    const schemaWithPattern = (pattern: string) =>
      compileValidator({
        type: 'object',
        properties: { value: { type: 'string', pattern } },
        additionalProperties: false,
      });
    const first = schemaWithPattern('^a$');
    const second = schemaWithPattern('^b$');

    expect(first({ value: 'a' })).toEqual([]);
    expect(second({ value: 'b' })).toEqual([]);
    expect(second({ value: 'a' })).not.toEqual([]);
  });
});
