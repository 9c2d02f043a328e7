import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { actionOf } from './action.testing.ts';
import { buildActionRequest } from './build-request.ts';
import { requestDigestOf } from './request.ts';

const baseUrl = 'https://api.example.com/v1';
const callDigest = 'd'.repeat(64);
const issue = actionOf({
  path: '/repos/{owner}/{repo}/issues',
  params: [
    { name: 'owner', in: 'path' },
    { name: 'repo', in: 'path' },
    { name: 'labels', in: 'query', schema: { type: 'array' } },
    { name: 'fields', in: 'query', schema: { type: 'array' }, explode: false },
    { name: 'state', in: 'query', schema: { type: 'string', default: 'open' } },
    { name: 'X-Version', in: 'header', schema: { type: 'string' } },
  ],
});

function build(params: Record<string, JsonValue>, action = issue) {
  return buildActionRequest({ action, params, baseUrl, callDigest });
}

describe('the URL of an action', () => {
  test.for<[says: string, params: Record<string, JsonValue>, url: string]>([
    ['fills the path and sends defaults', {}, '/repos/o/r/issues?state=open'],
    ['encodes a slash in a path parameter', { owner: 'a/b' }, '/repos/a%2Fb/r/issues?state=open'],
    ['encodes what would end the path', { owner: 'a?b#c' }, '/repos/a%3Fb%23c/r/issues?state=open'],
    ['encodes a percent sign once', { owner: '%2e' }, '/repos/%252e/r/issues?state=open'],
    ['encodes a star', { owner: '*' }, '/repos/%2A/r/issues?state=open'],
    [
      'keeps dots that are no dot segment',
      { owner: '...', repo: 'a.b' },
      '/repos/.../a.b/issues?state=open',
    ],
    ['encodes other alphabets', { owner: 'ü漢' }, '/repos/%C3%BC%E6%BC%A2/r/issues?state=open'],
    [
      'repeats exploded arrays',
      { labels: ['a', 'b&c'] },
      '/repos/o/r/issues?labels=a&labels=b%26c&state=open',
    ],
    ['joins other arrays', { fields: ['a', 'b,c'] }, '/repos/o/r/issues?fields=a,b%2Cc&state=open'],
    ['leaves out what is null', { state: null }, '/repos/o/r/issues'],
    ['encodes a quote, which parsers would', { state: "it's" }, '/repos/o/r/issues?state=it%27s'],
  ])('%s', ([, params, url]) => {
    expect(build({ owner: 'o', repo: 'r', ...params }).url).toBe(`${baseUrl}${url}`);
  });

  test.for<[says: string, owner: JsonValue]>([
    ['a dot segment', '..'],
    ['a single dot', '.'],
    ['a dot segment behind a slash', 'a/../../admin'],
    ['a dot segment behind a backslash', '..\\admin'],
    ['a dot segment before a matrix parameter', '..;x=1'],
    ['nothing at all', ''],
    ['half a character', '\ud800'],
    ['a line feed', 'a\nb'],
    ['a zero byte', 'a\0b'],
    ['a list of nothing', []],
    ['an object of nothing', { a: null }],
    ['a dot segment in a list', ['a', '..']],
    ['a dot segment in an object', { '..': 'a' }],
    ['null', null],
  ])('refuses %s in the path', ([, owner]) => {
    expect(() => build({ owner, repo: 'r' })).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });

  test('a reserved path keeps its slashes, and still cannot leave its place', () => {
    const contents = actionOf({
      path: '/contents/{path}',
      params: [{ name: 'path', in: 'path', allowReserved: true }],
    });

    expect(build({ path: 'src/a b/c?d#e%2f' }, contents).url).toBe(
      `${baseUrl}/contents/src/a%20b/c%3Fd%23e%252f`,
    );
    for (const path of ['../x', 'a/../b', 'a//b', '/a', 'a/', './a', 'a/..']) {
      expect(() => build({ path }, contents), path).toThrow();
    }
  });

  test('an object in the query cannot bring a method override', () => {
    const search = actionOf({
      params: [{ name: 'filter', in: 'query', schema: { type: 'object' } }],
    });

    expect(build({ filter: { a: '1', b: '2' } }, search).url).toBe(`${baseUrl}/things?a=1&b=2`);
    expect(() => build({ filter: { _method: 'DELETE' } }, search)).toThrow(
      'would change the method',
    );
  });

  test('no argument moves the request to another host, path or query', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (owner, state) => {
        let url: URL;
        try {
          url = new URL(build({ owner, repo: 'r', state }).url);
        } catch {
          return;
        }
        expect(url.host).toBe('api.example.com');
        expect(url.pathname.split('/')).toHaveLength(6);
        expect(url.pathname.split('/').toSpliced(3, 1)).toEqual(['', 'v1', 'repos', 'r', 'issues']);
        expect([...url.searchParams]).toEqual([['state', state]]);
        expect(url.hash).toBe('');
      }),
      { numRuns: 500 },
    );
  });
});

describe('the rest of an action', () => {
  test('a base URL with user, query or fragment is refused', () => {
    for (const bad of [
      'https://u@api.example.com',
      'https://api.example.com/?x',
      'ftp://api.example.com',
    ]) {
      expect(() =>
        buildActionRequest({ action: actionOf({}), params: {}, baseUrl: bad, callDigest }),
      ).toThrow(expect.objectContaining({ code: 'host_not_allowed' }));
    }
  });

  test('what every object inherits is no argument', () => {
    const names = ['toString', 'valueOf', 'hasOwnProperty', 'constructor'];
    const action = actionOf({
      method: 'POST',
      body: {
        mediaType: 'application/x-www-form-urlencoded',
        wholeBody: false,
        required: true,
        parts: {},
      },
      params: [
        ...names.map((name) => ({ name, in: 'body' as const })),
        { name: 'isPrototypeOf', in: 'query' },
        { name: 'toLocaleString', in: 'header' },
      ],
    });
    const { url, headers, body } = build({}, action);

    expect(url).toBe(`${baseUrl}/things`);
    expect(headers.map(([name]) => name)).toEqual(['accept', 'content-type']);
    expect(body).toHaveLength(0);
  });

  test('unknown and missing parameters are named', () => {
    expect(() => build({ owner: 'o', repo: 'r', colour: 'red' })).toThrow('"colour"');
    expect(() => build({ owner: 'o' })).toThrow('"repo" is required');
  });

  test('header parameters are sent as UTF-8, and never with a line feed', () => {
    const { headers } = build({ owner: 'o', repo: 'r', 'X-Version': 'ü' });

    expect(headers).toContainEqual(['x-version', Buffer.from('ü').toString('latin1')]);
    expect(() => build({ owner: 'o', repo: 'r', 'X-Version': 'a\r\nHost: evil' })).toThrow(
      'control characters',
    );
  });

  test('headers of lists and objects take no line feed, in no place', () => {
    const ids = actionOf({ params: [{ name: 'X-Ids', in: 'header', explode: true }] });
    const header = (value: JsonValue) => build({ 'X-Ids': value }, ids).headers.at(-1)?.[1];

    expect(header(['a', 'b'])).toBe('a,b');
    expect(header({ a: 1, b: 2 })).toBe('a=1,b=2');
    for (const hostile of [['a\r\nX: y'], { 'a\n': 1 }, { a: '\0' }, ['a,b']]) {
      expect(() => header(hostile)).toThrow(expect.objectContaining({ code: 'invalid_params' }));
    }
  });

  test.for([
    'Host',
    'Transfer-Encoding',
    'X-HTTP-Method-Override',
    'x_http_method',
    'Proxy-Authorization',
    'X-Forwarded-For',
  ])('the header %s is nobody’s to set', (name) => {
    const action = actionOf({ params: [{ name, in: 'header' }] });
    expect(() => build({ [name]: 'x' }, action)).toThrow('only the gateway sets');
  });
});

describe('the body of an action', () => {
  const post = (mediaType: string, wholeBody = false) =>
    actionOf({
      method: 'POST',
      body: { mediaType, wholeBody, required: true, parts: {} },
      params: wholeBody
        ? [{ name: 'body', in: 'body' }]
        : [
            { name: 'title', in: 'body' },
            { name: 'tags', in: 'body', schema: { type: 'array' } },
          ],
    });
  const text = (body: Uint8Array | null) => Buffer.from(body ?? []).toString('utf8');

  test('JSON in the order of the template, whatever the caller’s order was', () => {
    const action = post('application/json');
    const one = build({ title: 'x', tags: [1] }, action);
    const other = build({ tags: [1], title: 'x' }, action);

    expect(text(one.body)).toBe('{"title":"x","tags":[1]}');
    expect(requestDigestOf(one)).toBe(requestDigestOf(other));
    expect(one.headers).toContainEqual(['content-type', 'application/json']);
  });

  test('form-encoded, with nothing that could start another field', () => {
    const { body } = build(
      { title: 'a&b=c', tags: ['x', { k: 'v' }] },
      post('application/x-www-form-urlencoded'),
    );

    expect(text(body)).toBe('title=a%26b%3Dc&tags=x&tags=%7B%22k%22%3A%22v%22%7D');
  });

  test('multipart, with a boundary that is the same at the replay', () => {
    const action = post('multipart/form-data');
    const one = build({ title: 'x' }, action);

    expect(one.headers).toContainEqual([
      'content-type',
      `multipart/form-data; boundary=gateway-${'d'.repeat(32)}`,
    ]);
    expect(text(one.body)).toContain('name="title"\r\n\r\nx\r\n');
    expect(requestDigestOf(one)).toBe(requestDigestOf(build({ title: 'x' }, action)));
  });

  test('a whole body as it is', () => {
    expect(text(build({ body: [1, 2] }, post('application/json', true)).body)).toBe('[1,2]');
    expect(text(build({ body: 'plain' }, post('text/plain', true)).body)).toBe('plain');
  });

  test('the digest changes with every part of the request', () => {
    const action = post('application/json');
    const digests = [
      build({ title: 'x' }, action),
      build({ title: 'y' }, action),
      build({ title: 'x', tags: [] }, action),
      build({ title: 'x' }, { ...action, method: 'PUT' }),
      build({ title: 'x' }, { ...action, path: '/others' }),
    ].map(requestDigestOf);

    expect(new Set(digests).size).toBe(digests.length);
  });
});
