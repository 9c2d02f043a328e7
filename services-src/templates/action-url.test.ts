import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { CompiledAction, CompiledParam } from '../contracts/template.ts';
import type { JsonValue } from '../contracts/vocabulary.ts';
import { actionPathOf, actionQueryOf } from './action-url.ts';
import { toJoinedText } from './styles.ts';

type Place = 'path' | 'query';
type ParamParts = Partial<CompiledParam> & Pick<CompiledParam, 'style' | 'explode'>;

function paramOf(place: CompiledParam['in'], parts: ParamParts): CompiledParam {
  const name = parts.name ?? 'color';
  return {
    name,
    wireName: name,
    in: place,
    required: true,
    description: '',
    schema: {},
    allowReserved: false,
    resolve: null,
    ...parts,
  };
}

function actionOf(path: string, params: CompiledParam[]): CompiledAction {
  return {
    key: 'act',
    method: 'GET',
    path,
    summary: '',
    description: [],
    risk: 'read',
    scopeParam: null,
    params,
    paramsSchema: {},
    body: null,
    disclose: [],
    redact: [],
    responseType: 'json',
    minimumScopes: null,
    disabled: false,
  };
}

function writeParam(place: Place, value: JsonValue, parts: ParamParts): string {
  const action = actionOf(place === 'path' ? '/{color}' : '/', [paramOf(place, parts)]);
  const params = { color: value };
  return place === 'path' ? actionPathOf(action, params).slice(1) : actionQueryOf(action, params);
}

const list = ['blue', 'black', 'brown'];
const object = { R: 100, G: 200, B: 150 };
const refusedError = { code: 'invalid_params' };

describe('parameter serialisation (OpenAPI 3.1 §4.8.12.2, RFC 6570 §3.2)', () => {
  test.for<[Place, CompiledParam['style'], explode: boolean, JsonValue, text: string]>([
    ['path', 'simple', false, 'blue', 'blue'],
    ['path', 'simple', false, list, 'blue,black,brown'],
    ['path', 'simple', false, object, 'R,100,G,200,B,150'],
    ['path', 'simple', true, 'blue', 'blue'],
    ['path', 'simple', true, list, 'blue,black,brown'],
    ['path', 'simple', true, object, 'R=100,G=200,B=150'],
    ['path', 'label', false, 'blue', '.blue'],
    ['path', 'label', false, list, '.blue,black,brown'],
    ['path', 'label', false, object, '.R,100,G,200,B,150'],
    ['path', 'label', true, 'blue', '.blue'],
    ['path', 'label', true, list, '.blue.black.brown'],
    ['path', 'label', true, object, '.R=100.G=200.B=150'],
    ['path', 'matrix', false, 'blue', ';color=blue'],
    ['path', 'matrix', false, list, ';color=blue,black,brown'],
    ['path', 'matrix', false, object, ';color=R,100,G,200,B,150'],
    ['path', 'matrix', true, 'blue', ';color=blue'],
    ['path', 'matrix', true, list, ';color=blue;color=black;color=brown'],
    ['path', 'matrix', true, object, ';R=100;G=200;B=150'],
    ['query', 'form', false, '', 'color='],
    ['query', 'form', false, 'blue', 'color=blue'],
    ['query', 'form', false, list, 'color=blue,black,brown'],
    ['query', 'form', false, object, 'color=R,100,G,200,B,150'],
    ['query', 'form', true, '', 'color='],
    ['query', 'form', true, 'blue', 'color=blue'],
    ['query', 'form', true, list, 'color=blue&color=black&color=brown'],
    ['query', 'form', true, object, 'R=100&G=200&B=150'],
    ['query', 'spaceDelimited', false, list, 'color=blue%20black%20brown'],
    ['query', 'spaceDelimited', false, object, 'color=R%20100%20G%20200%20B%20150'],
    ['query', 'spaceDelimited', true, list, 'color=blue&color=black&color=brown'],
    ['query', 'pipeDelimited', false, list, 'color=blue%7Cblack%7Cbrown'],
    ['query', 'pipeDelimited', false, object, 'color=R%7C100%7CG%7C200%7CB%7C150'],
    ['query', 'pipeDelimited', true, list, 'color=blue&color=black&color=brown'],
    ['query', 'deepObject', true, object, 'color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150'],
    ['query', 'deepObject', true, 'blue', 'color=blue'],
    [
      'query',
      'deepObject',
      true,
      { a: { b: [1, { c: 2 }] } },
      'color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=2',
    ],
    ['query', 'json', false, { a: [1, 'x'] }, 'color=%7B%22a%22%3A%5B1%2C%22x%22%5D%7D'],
    ['query', 'json', false, 'x', 'color=%22x%22'],
  ])(
    'writes a %s parameter of style %s, explode %s, with value %j as %s',
    ([place, style, explode, value, text]) => {
      expect(writeParam(place, value, { style, explode })).toBe(text);
    },
  );

  test.for<[explode: boolean, JsonValue, text: string]>([
    [false, 'blue', 'blue'],
    [false, list, 'blue,black,brown'],
    [false, object, 'R,100,G,200,B,150'],
    [true, object, 'R=100,G=200,B=150'],
    [false, 'a,b', 'a,b'],
  ])(
    'writes a header parameter of style simple, explode %s, with value %j as %s',
    ([explode, value, text]) => {
      const param = paramOf('header', { style: 'simple', explode });
      expect(toJoinedText(value, param, (each) => each)).toBe(text);
    },
  );

  test('leaves out null, empty lists and empty objects', () => {
    for (const style of ['form', 'deepObject', 'json'] as const) {
      for (const value of [null, [], {}, { a: null }]) {
        expect(writeParam('query', value, { style, explode: true })).toBe('');
      }
    }
    expect(writeParam('query', { a: null, b: 1 }, { style: 'form', explode: true })).toBe('b=1');
  });

  test('writes nested lists and objects as JSON, because OpenAPI does not define how to write them', () => {
    const text = encodeURIComponent('{"a":[1]}');
    expect(writeParam('query', [{ a: [1] }], { style: 'form', explode: true })).toBe(
      `color=${text}`,
    );
    expect(writeParam('query', [{ a: [1] }], { style: 'form', explode: false })).toBe(
      `color=${text}`,
    );
  });

  test("uses the parameter's name in the request, not the name that callers use", () => {
    const matrix = paramOf('path', {
      name: 'path_id',
      wireName: 'id',
      style: 'matrix',
      explode: false,
    });
    const query = paramOf('query', {
      name: 'query_id',
      wireName: 'größe',
      style: 'form',
      explode: true,
    });

    expect(actionPathOf(actionOf('/{path_id}', [matrix]), { path_id: 1 })).toBe('/;id=1');
    expect(actionQueryOf(actionOf('/', [query]), { query_id: 1 })).toBe('gr%C3%B6%C3%9Fe=1');
  });
});

describe('the URL of an action cannot be written with an ambiguous parameter value:', () => {
  test.for<[what: string, Place, ParamParts, JsonValue]>([
    [
      'a list with a space in an item and spaces as separators',
      'query',
      { style: 'spaceDelimited', explode: false },
      ['a b', 'c'],
    ],
    [
      'a list with a pipe in an item and pipes as separators',
      'query',
      { style: 'pipeDelimited', explode: false },
      ['a|b'],
    ],
    [
      'a list with a dot in an item and dots as separators',
      'path',
      { style: 'label', explode: true },
      ['1.5', '2'],
    ],
    [
      'a list with a comma in an item that allowReserved keeps',
      'path',
      { style: 'simple', explode: false, allowReserved: true },
      ['a,b'],
    ],
    ['a null in a list', 'query', { style: 'form', explode: true }, ['a', null]],
    [
      'an object with a method-override member',
      'query',
      { style: 'form', explode: true },
      { _method: 'DELETE' },
    ],
    [
      'an object with a method-override member in list notation',
      'query',
      { style: 'form', explode: true },
      { '_METHOD[]': 'x' },
    ],
    ['a dot after the dot of style label', 'path', { style: 'label', explode: false }, '.'],
    [
      'empty items that leave only the dots of style label',
      'path',
      { style: 'label', explode: true },
      ['', ''],
    ],
    ['a dot before a matrix parameter', 'path', { style: 'label', explode: false }, '.;a=1'],
    [
      'a member name with a lone surrogate',
      'query',
      { style: 'deepObject', explode: true },
      { '\ud800': 1 },
    ],
    ['a member name with a line feed', 'path', { style: 'matrix', explode: true }, { 'a\n': 1 }],
  ])('%s', ([, place, parts, value]) => {
    expect(() => writeParam(place, value, parts)).toThrow(expect.objectContaining(refusedError));
  });

  test('a comma or an equals sign in a header, which has no encoding', () => {
    const simple = paramOf('header', { style: 'simple', explode: false });
    const exploded = paramOf('header', { style: 'simple', explode: true });
    const keepText = (text: string) => text;

    expect(() => toJoinedText(['a,b'], simple, keepText)).toThrow('separates its values');
    expect(() => toJoinedText({ 'a=b': 1 }, exploded, keepText)).toThrow('separates its values');
    expect(toJoinedText({ a: 'b=c' }, exploded, keepText)).toBe('a=b=c');
  });

  test('two values that together form a dot segment', () => {
    const params = ['a', 'b'].map((name) =>
      paramOf('path', { name, style: 'simple', explode: false }),
    );
    const action = actionOf('/x/{a}.{b}', params);

    expect(actionPathOf(action, { a: 'x', b: 'y' })).toBe('/x/x.y');
    expect(() => actionPathOf(actionOf('/x/.{a}', params), { a: '.' })).toThrow(
      expect.objectContaining(refusedError),
    );
  });

  test('an object whose members have the names of other parameters', () => {
    const params = [
      paramOf('query', { name: 'filter', style: 'form', explode: true }),
      paramOf('query', { name: 'api-version', style: 'form', explode: true }),
    ];
    const action = actionOf('/', params);

    expect(actionQueryOf(action, { filter: { a: 1 }, 'api-version': '7' })).toBe(
      'a=1&api-version=7',
    );
    expect(() => actionQueryOf(action, { filter: { 'api-version': '1' } })).toThrow(
      'a parameter of its own',
    );
  });
});

test('the URL of an action is refused for many values under a long name, before it is built', () => {
  const nested = (depth: number): JsonValue =>
    depth === 0
      ? Array.from({ length: 10_000 }, (_, index) => index)
      : { ['n'.repeat(4_000)]: nested(depth - 1) };

  expect(() => writeParam('query', nested(60), { style: 'deepObject', explode: true })).toThrow(
    expect.objectContaining({
      code: 'too_large',
      details: { limit: 'sent_query_bytes', max: 196_608 },
    }),
  );
});

describe('any parameter value', () => {
  const text = fc.string({ unit: 'binary' });
  const value = fc.oneof(
    text,
    fc.integer(),
    fc.boolean(),
    fc.array(text, { minLength: 1 }),
    fc.dictionary(text, text, { minKeys: 1 }),
  );
  const queryStyles: [CompiledParam['style'], boolean][] = [
    ['form', true],
    ['form', false],
    ['spaceDelimited', false],
    ['pipeDelimited', false],
    ['deepObject', true],
    ['json', false],
  ];

  /** Undefined when the value is refused. */
  function buildOrUndefined(build: () => string): string | undefined {
    try {
      return build();
    } catch (error) {
      expect(error).toMatchObject(refusedError);
      return undefined;
    }
  }

  test('is read back unchanged from the query', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(...queryStyles), (given, [style, explode]) => {
        const query = buildOrUndefined(() => writeParam('query', given, { style, explode }));
        if (query === undefined) return;
        expect(new URL(`https://a.example/?${query}`).search.slice(1)).toBe(query);
        expect(readQuery(query, given, { style, explode })).toEqual(toText(given));
      }),
      { numRuns: 3_000 },
    );
  });

  test('stays one segment of the path and is read back unchanged from it', () => {
    const pathStyles: [CompiledParam['style'], boolean][] = [
      ['simple', false],
      ['simple', true],
      ['label', false],
      ['label', true],
      ['matrix', false],
      ['matrix', true],
    ];
    fc.assert(
      fc.property(value, fc.constantFrom(...pathStyles), (given, [style, explode]) => {
        const segment = buildOrUndefined(() => writeParam('path', given, { style, explode }));
        if (segment === undefined) return;
        expect(new URL(`https://a.example/x/${segment}/y`).pathname).toBe(`/x/${segment}/y`);
        expect(segment).not.toMatch(/[/?#\\]/);
        if (Array.isArray(given) && style === 'simple')
          expect(segment.split(',').map(decodeURIComponent)).toEqual(given);
      }),
      { numRuns: 3_000 },
    );
  });

  /** A value as a server reads it: everything is text. */
  function toText(given: JsonValue): unknown {
    if (Array.isArray(given)) return given.map(String);
    if (typeof given === 'object' && given !== null) return { ...given };
    return String(given);
  }

  /** Reads a query as a server that knows the parameter would. */
  function readQuery(query: string, given: JsonValue, { style, explode }: ParamParts): unknown {
    const pairs = query.split('&').map((pair) => pair.split('='));
    const decoded = pairs.map((pair) => pair.map((part) => decodeURIComponent(part)));
    if (style === 'json') {
      const read: unknown = JSON.parse(decoded[0]?.[1] ?? '');
      return typeof read === 'object' ? read : String(read);
    }
    const raw = pairs[0]?.[1] ?? '';
    const delimiter = style === 'form' ? ',' : style === 'spaceDelimited' ? '%20' : '%7C';
    const isList = Array.isArray(given);
    if (style === 'deepObject' && typeof given === 'object') {
      const members = decoded.map(([key = '', text = '']) => [
        key.slice('color['.length, -1),
        text,
      ]);
      return isList ? members.map(([, text]) => text) : Object.fromEntries(members);
    }
    if (typeof given !== 'object') return decoded[0]?.[1];
    if (explode) return isList ? decoded.map(([, text]) => text) : Object.fromEntries(decoded);
    const parts = raw.split(delimiter).map((part) => decodeURIComponent(part));
    if (isList) return parts;
    const entries = parts.flatMap((key, at) => (at % 2 === 0 ? [[key, parts[at + 1]]] : []));
    return Object.fromEntries(entries);
  }
});
