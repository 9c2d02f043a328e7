import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { JsonValue } from '#contracts/vocabulary';
import { actionOf } from './action.testing.ts';
import { buildActionRequest } from './build-action-request.ts';
import { requestDigestOf } from './built-request.ts';

const baseUrl = 'https://api.example.com/v1';
const callDigest = 'd'.repeat(64);
const issueAction = actionOf({
  path: '/repos/{owner}/{repo}/issues',
  params: [
    { name: 'owner', in: 'path' },
    { name: 'repo', in: 'path' },
    { name: 'labels', in: 'query', schema: { type: 'array' } },
    { name: 'fields', in: 'query', schema: { type: 'array' }, explode: false },
    { name: 'where', in: 'query', schema: { type: 'object' } },
    { name: 'state', in: 'query', schema: { type: 'string', default: 'open' } },
    { name: 'X-Version', in: 'header', schema: { type: 'string' } },
  ],
});

function build(params: Record<string, JsonValue>, action = issueAction) {
  return buildActionRequest({ action, params, baseUrl, callDigest });
}

describe('the URL of an action', () => {
  test.for<[says: string, params: Record<string, JsonValue>, url: string]>([
    [
      'contains the path parameters, and the defaults of others',
      {},
      '/repos/o/r/issues?state=open',
    ],
    ['encodes a slash in a path parameter', { owner: 'a/b' }, '/repos/a%2Fb/r/issues?state=open'],
    [
      'encodes ? and # in a path parameter',
      { owner: 'a?b#c' },
      '/repos/a%3Fb%23c/r/issues?state=open',
    ],
    ['encodes a percent sign once', { owner: '%2e' }, '/repos/%252e/r/issues?state=open'],
    ['encodes a star', { owner: '*' }, '/repos/%2A/r/issues?state=open'],
    [
      'keeps dots that do not form a dot segment',
      { owner: '...', repo: 'a.b' },
      '/repos/.../a.b/issues?state=open',
    ],
    [
      'encodes non-ASCII characters',
      { owner: 'ü漢' },
      '/repos/%C3%BC%E6%BC%A2/r/issues?state=open',
    ],
    [
      'repeats the parameter for each item of an exploded array',
      { labels: ['a', 'b&c'] },
      '/repos/o/r/issues?labels=a&labels=b%26c&state=open',
    ],
    [
      'repeats the member of an exploded object for each item of its array',
      { where: { tag: ['a', 'b'], open: true } },
      '/repos/o/r/issues?tag=a&tag=b&open=true&state=open',
    ],
    [
      'joins the items of an array that is not exploded',
      { fields: ['a', 'b,c'] },
      '/repos/o/r/issues?fields=a,b%2Cc&state=open',
    ],
    ['leaves out a parameter that is null', { state: null }, '/repos/o/r/issues'],
    [
      'encodes a quote, because URL parsers encode it too',
      { state: "it's" },
      '/repos/o/r/issues?state=it%27s',
    ],
  ])('%s', ([, params, url]) => {
    expect(build({ owner: 'o', repo: 'r', ...params }).url).toBe(`${baseUrl}${url}`);
  });

  test.for<[says: string, owner: JsonValue]>([
    ['a dot segment', '..'],
    ['a single dot', '.'],
    ['a dot segment behind a slash', 'a/../../admin'],
    ['a dot segment behind a backslash', '..\\admin'],
    ['a dot segment before a matrix parameter', '..;x=1'],
    ['an empty text', ''],
    ['a lone surrogate', '\ud800'],
    ['a line feed', 'a\nb'],
    ['a zero byte', 'a\0b'],
    ['an empty list', []],
    ['an object that has only null members', { a: null }],
    ['a dot segment in a list', ['a', '..']],
    ['a dot segment in an object', { '..': 'a' }],
    ['null', null],
  ])('cannot be built with %s as a path parameter', ([, owner]) => {
    expect(() => build({ owner, repo: 'r' })).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });

  test('keeps slashes in a reserved path parameter, but the parameter cannot change the rest of the path', () => {
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

  test('never contains a parameter that overrides the method, even when an object becomes query parameters', () => {
    const search = actionOf({
      params: [{ name: 'filter', in: 'query', schema: { type: 'object' } }],
    });

    expect(build({ filter: { a: '1', b: '2' } }, search).url).toBe(`${baseUrl}/things?a=1&b=2`);
    expect(() => build({ filter: { _method: 'DELETE' } }, search)).toThrow(
      'would change the method',
    );
  });

  test(
    'keeps the host, path and query of the action, whatever an argument contains',
    { timeout: 60_000 },
    () => {
      fc.assert(
        fc.property(
          fc.string({ unit: 'binary' }),
          fc.string({ unit: 'binary' }),
          (owner, state) => {
            let url: URL;
            try {
              url = new URL(build({ owner, repo: 'r', state }).url);
            } catch {
              return;
            }
            expect(url.host).toBe('api.example.com');
            expect(url.pathname.split('/')).toHaveLength(6);
            expect(url.pathname.split('/').toSpliced(3, 1)).toEqual([
              '',
              'v1',
              'repos',
              'r',
              'issues',
            ]);
            expect([...url.searchParams]).toEqual([['state', state]]);
            expect(url.hash).toBe('');
          },
        ),
        { numRuns: 500 },
      );
    },
  );
});

describe('building an action’s request', () => {
  test('refuses a base URL with user, query or fragment', () => {
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

  test('uses no inherited property of an object as an argument', () => {
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

  test('fails with an error that names an unknown or missing parameter', () => {
    expect(() => build({ owner: 'o', repo: 'r', colour: 'red' })).toThrow('"colour"');
    expect(() => build({ owner: 'o' })).toThrow('"repo" is required');
  });

  test('writes header parameters as UTF-8, and refuses line feeds in them', () => {
    const { headers } = build({ owner: 'o', repo: 'r', 'X-Version': 'ü' });

    expect(headers).toContainEqual(['x-version', Buffer.from('ü').toString('latin1')]);
    expect(() => build({ owner: 'o', repo: 'r', 'X-Version': 'a\r\nHost: evil' })).toThrow(
      'control characters',
    );
  });

  test('refuses line feeds in lists and objects that become header parameters', () => {
    const ids = actionOf({ params: [{ name: 'X-Ids', in: 'header', explode: true }] });
    const headerOf = (value: JsonValue) => build({ 'X-Ids': value }, ids).headers.at(-1)?.[1];

    expect(headerOf(['a', 'b'])).toBe('a,b');
    expect(headerOf({ a: 1, b: 2 })).toBe('a=1,b=2');
    for (const hostile of [['a\r\nX: y'], { 'a\n': 1 }, { a: '\0' }, ['a,b']]) {
      expect(() => headerOf(hostile)).toThrow(expect.objectContaining({ code: 'invalid_params' }));
    }
  });

  test.for([
    ['Host', 'only the gateway sets'],
    ['Transfer-Encoding', 'only the gateway sets'],
    ['X-HTTP-Method-Override', 'method, host or path'],
    ['x_http_method', 'method, host or path'],
    ['Proxy-Authorization', 'only the gateway sets'],
    ['X-Forwarded-For', 'only the gateway sets'],
    ['x-amz-copy-source', 'a second resource'],
  ] as const)('refuses to set the header %s', ([name, reason]) => {
    const action = actionOf({ params: [{ name, in: 'header' }] });
    expect(() => build({ [name]: 'x' }, action)).toThrow(reason);
  });
});

describe('an action’s body', () => {
  const createPostAction = (mediaType: string, wholeBody = false) =>
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
  const textOf = (body: Uint8Array | null) => Buffer.from(body ?? []).toString('utf8');

  test('is JSON with its properties in the order of the template, not of the caller', () => {
    const action = createPostAction('application/json');
    const builtRequest = build({ title: 'x', tags: [1] }, action);
    const other = build({ tags: [1], title: 'x' }, action);

    expect(textOf(builtRequest.body)).toBe('{"title":"x","tags":[1]}');
    expect(requestDigestOf(builtRequest)).toBe(requestDigestOf(other));
    expect(builtRequest.headers).toContainEqual(['content-type', 'application/json']);
  });

  test('can be a form, where no value can begin another field', () => {
    const { body } = build(
      { title: 'a&b=c', tags: ['x', { k: 'v' }] },
      createPostAction('application/x-www-form-urlencoded'),
    );

    expect(textOf(body)).toBe('title=a%26b%3Dc&tags=x&tags=%7B%22k%22%3A%22v%22%7D');
  });

  test('can be multipart, and a replay uses the same boundary', () => {
    const action = createPostAction('multipart/form-data');
    const builtRequest = build({ title: 'x' }, action);

    expect(builtRequest.headers).toContainEqual([
      'content-type',
      `multipart/form-data; boundary=gateway-${'d'.repeat(32)}`,
    ]);
    expect(textOf(builtRequest.body)).toContain('name="title"\r\n\r\nx\r\n');
    expect(requestDigestOf(builtRequest)).toBe(requestDigestOf(build({ title: 'x' }, action)));
  });

  test('can be a single value', () => {
    expect(textOf(build({ body: [1, 2] }, createPostAction('application/json', true)).body)).toBe(
      '[1,2]',
    );
    expect(textOf(build({ body: 'plain' }, createPostAction('text/plain', true)).body)).toBe(
      'plain',
    );
  });

  test('is part of the request’s digest, like every other part of the request', () => {
    const action = createPostAction('application/json');
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

describe('an action that sends a composed mail', () => {
  const sendMail = actionOf({
    method: 'POST',
    path: '/send',
    params: ['to', 'bcc', 'subject', 'text', 'threadId'].map((name) => ({ name, in: 'body' })),
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    compose: { format: 'rfc822', into: ['message', 'raw'], encoding: 'base64url' },
  });
  const params = {
    to: ['ann@acme.example'],
    bcc: ['bob@acme.example'],
    subject: 'Hi',
    text: 'Hello',
    threadId: '18c2',
  };

  test('sends the composed message, and shows the fields from which it was composed', () => {
    const { body, projection } = build(params, sendMail);
    const { message } = JSON.parse(Buffer.from(body ?? []).toString());
    expect(message).toEqual({ threadId: '18c2', raw: expect.any(String) });
    const mail = Buffer.from(message.raw, 'base64url').toString();
    expect(mail).toMatch(/^To: ann@acme\.example\r\nBcc: bob@acme\.example\r\nSubject: Hi\r\n/);
    expect(projection.body).toEqual(params);
  });

  test('has the same digest each time it is built, and another digest for other recipients', () => {
    const digest = requestDigestOf(build(params, sendMail));
    expect(requestDigestOf(build(structuredClone(params), sendMail))).toBe(digest);
    const { bcc: _bcc, ...others } = params;
    expect(requestDigestOf(build(others, sendMail))).not.toBe(digest);
  });
});
