import { randomUUID } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import type { CallBody } from '#contracts/http/actions';
import { call } from '#contracts/call';
import { parseCallBody, parseCallHeaders, parseConnectionCall, parseDryRun } from './call-body.ts';

const plainHeaders = { idempotencyKey: null, waitMs: 0 };
const limits = {
  depthMax: 8,
  valuesMax: 100,
  itemsMax: 50,
  namesMax: 20,
  nameCharactersMax: 256,
  pathCharactersMax: 2_048,
  queryValuesMax: 10,
};
const parse = (body: CallBody) => parseCallBody(body, plainHeaders, limits);

describe('the body of a call', () => {
  test('with an action becomes an action call with default options', () => {
    expect(parse({ service: 'github', action: 'issues.get' })).toEqual({
      kind: 'fresh',
      call: { kind: 'action', service: 'github', action: 'issues.get', params: {}, filter: null },
      options: { timeoutMs: 30_000, maxRisk: null, idempotencyKey: null },
    });
  });

  test('with a method and a path becomes a call by HTTP method and path', () => {
    const parsedCall = parse({
      service: 'org/github',
      method: 'GET',
      path: '/user',
      query: { a: ['1'] },
    });

    expect(parsedCall).toMatchObject({
      kind: 'fresh',
      call: { kind: 'http', service: 'org/github', method: 'GET', target: '/user', body: null },
    });
  });

  test.for(['path', 'url'] as const)(
    'for the service http may contain the full URL in the field %s',
    (field) => {
      const parsedCall = parse({
        service: 'http',
        method: 'POST',
        [field]: 'https://a.example/b',
        body: [1],
      });

      expect(parsedCall).toMatchObject({ call: { target: 'https://a.example/b', body: [1] } });
    },
  );

  test('with only approval_id resumes a call', () => {
    const approvalId = randomUUID();

    expect(parse({ approval_id: approvalId })).toEqual({ kind: 'resume', approvalId });
    expect(parse({ approval_id: approvalId, verbose: true })).toEqual({
      kind: 'resume',
      approvalId,
    });
  });

  test('becomes a call with the options from its fields and headers', () => {
    const body: CallBody = {
      service: 'a',
      action: 'b',
      timeout_ms: 5,
      max_risk: 'read',
      filter: '.x',
    };

    expect(parseCallBody(body, { idempotencyKey: 'k', waitMs: 0 }, limits)).toMatchObject({
      call: { filter: '.x' },
      options: { timeoutMs: 5, maxRisk: 'read', idempotencyKey: 'k' },
    });
  });

  test.for<[name: string, params: CallBody['params'], parsed: object]>([
    ['null', null, {}],
    ['a JSON string', '{"a": {"b": [1]}}', { a: { b: [1] } }],
    ['the JSON string null', 'null', {}],
    ['an object', { a: 1 }, { a: 1 }],
  ])('accepts params given as %s', ([, params, parsed]) => {
    expect(parse({ service: 'a', action: 'b', params })).toMatchObject({
      call: { params: parsed },
    });
  });

  test('becomes a call that the bus contract accepts, for any valid body', () => {
    const bodies: CallBody[] = [
      { service: 'a', action: 'b' },
      { service: 'a', method: 'DELETE', path: '/x' },
      { service: 'http', method: 'GET', url: 'https://a.example' },
    ];
    for (const body of bodies) {
      const parsedCall = parse(body);
      expect(parsedCall.kind === 'fresh' && call.safeParse(parsedCall.call).success).toBe(true);
    }
  });

  test.for<[name: string, body: CallBody, path: string]>([
    ['no fields', {}, 'service'],
    ['a service alone', { service: 'github' }, 'action'],
    ['an empty action', { service: 'github', action: '' }, 'action'],
    ['an action without service', { action: 'a' }, 'service'],
    ['an invalid service name', { service: 'Git Hub', action: 'a' }, 'service'],
    ['an action and a path', { service: 'github', action: 'a', path: '/x' }, 'path'],
    [
      'params beside a method',
      { service: 'github', method: 'GET', path: '/', params: {} },
      'params',
    ],
    ['a method without path', { service: 'github', method: 'GET' }, 'path'],
    ['a path without method', { service: 'github', path: '/x' }, 'method'],
    ['a path without a leading slash', { service: 'github', method: 'GET', path: 'x' }, 'path'],
    ['a url for a service', { service: 'github', method: 'GET', url: 'https://a.example' }, 'url'],
    ['an action for the service http', { service: 'http', action: 'a' }, 'action'],
    ['the service http without url', { service: 'http', method: 'GET' }, 'url'],
    [
      'the service http and a path that is no full URL',
      { service: 'http', method: 'GET', path: '/x' },
      'path',
    ],
    [
      'the service http and both path and url',
      { service: 'http', method: 'GET', path: 'https://a', url: 'https://a' },
      'path',
    ],
    [
      'the service http and a URL that is not http or https',
      { service: 'http', method: 'GET', url: 'file:///etc/passwd' },
      'url',
    ],
    ['approval_id and service', { approval_id: randomUUID(), service: 'github' }, 'service'],
    ['approval_id and params', { approval_id: randomUUID(), params: {} }, 'params'],
    ['params that are no JSON object', { service: 'a', action: 'b', params: '[1]' }, 'params'],
    ['params that are no JSON', { service: 'a', action: 'b', params: '{' }, 'params'],
    [
      'params with the name __proto__',
      { service: 'a', action: 'b', params: '{"__proto__":{}}' },
      'params',
    ],
  ])('with %s is refused, and the error names the field $2', ([, body, path]) => {
    expect(() => parse(body)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: { issues: expect.arrayContaining([expect.objectContaining({ path })]) },
      }),
    );
  });

  test.for([
    ['GitHub', 'github'],
    ['Google Calendar', 'google_calendar'],
    ['org/GitHub', 'org/github'],
  ])(
    'with the service %s is refused, and the error suggests the name %s',
    ([service, suggestion]) => {
      expect(() => parse({ service, action: 'a' })).toThrow(
        expect.objectContaining({
          details: { issues: [expect.objectContaining({ did_you_mean: suggestion })] },
        }),
      );
    },
  );
});

describe('the body of a call through a connection', () => {
  const callByConnection = {
    connection: 'org/google',
    method: 'POST',
    url: 'https://a.example/b',
  } as const;
  const asCalled = {
    kind: 'http',
    service: 'http',
    method: 'POST',
    target: 'https://a.example/b',
    query: {},
    headers: {},
    body: [1],
    secrets: [],
    connection: 'org/google',
    filter: '.a',
  };

  test('becomes a call by full URL that names the connection', () => {
    const body = { ...callByConnection, body: [1], filter: '.a', max_risk: 'write' as const };
    const parsedCall = parseConnectionCall(body, { ...plainHeaders, idempotencyKey: 'k' }, limits);

    expect(parsedCall).toEqual({
      kind: 'fresh',
      call: asCalled,
      options: { timeoutMs: 30_000, maxRisk: 'write', idempotencyKey: 'k' },
    });
    expect(parsedCall.kind === 'fresh' && call.parse(parsedCall.call)).toEqual(asCalled);
  });

  test('is parsed in the same way for a dry run as for a call', () => {
    expect(parseDryRun({ ...callByConnection, body: [1], filter: '.a' }, limits)).toEqual(asCalled);
    expect(parseDryRun({ service: 'github', action: 'a' }, limits)).not.toHaveProperty(
      'connection',
    );
  });

  test.for([
    [{ service: 'github' }, 'service'],
    [{ action: 'a' }, 'action'],
    [{ path: '/a' }, 'path'],
    [{ secrets: [{ name: 'a', in: 'header', key: 'b' }] }, 'secrets'],
  ] as const)('is refused for a dry run if it also contains the field in %j', ([more, path]) => {
    const parseWithField = () =>
      parseDryRun({ ...callByConnection, ...structuredClone(more) } as never, limits);

    expect(parseWithField).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: { issues: [expect.objectContaining({ path })] },
      }),
    );
  });

  test.for(['/b', 'ftp://a.example/', 'https:///b', ''])(
    'is refused if its URL is %j, which is not a full URL',
    (url) => {
      expect(() => parseConnectionCall({ ...callByConnection, url }, plainHeaders, limits)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    },
  );
});

describe('the headers of a call', () => {
  test.for<[prefer: string | string[] | undefined, waitMs: number]>([
    [undefined, 0],
    ['wait=5', 5_000],
    ['respond-async, wait=10', 10_000],
    ['wait="7"', 7_000],
    ['WAIT = 3', 3_000],
    ['wait=999', 60_000],
    ['wait=0', 0],
    ['wait=-1', 0],
    ['wait=soon', 0],
    ['handling=lenient', 0],
    [['return=minimal', 'wait=2'], 2_000],
  ])('Prefer: %s makes the call wait %d ms', ([prefer, waitMs]) => {
    expect(parseCallHeaders({ prefer }).waitMs).toBe(waitMs);
  });

  test('an Idempotency-Key is kept unchanged', () => {
    expect(parseCallHeaders({ 'idempotency-key': 'order-17' }).idempotencyKey).toBe('order-17');
    expect(parseCallHeaders({}).idempotencyKey).toBeNull();
  });

  test.for(['', 'two words', 'ü', 'x'.repeat(201)])(
    'an invalid Idempotency-Key is refused: %j',
    (key) => {
      expect(() => parseCallHeaders({ 'idempotency-key': key })).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    },
  );
});

describe('a call body', () => {
  test.for<[what: string, body: CallBody, limit: string]>([
    [
      'params as JSON text with a list that is too long',
      { service: 'github', action: 'a', params: JSON.stringify({ labels: Array(51).fill(0) }) },
      'json_list_items',
    ],
    ...['application/json', 'text/plain'].map((type): [string, CallBody, string] => [
      `a text body of ${type} that is deeply nested JSON`,
      {
        service: 'github',
        method: 'POST',
        path: '/x',
        headers: { 'content-type': type },
        body: `\n ${'['.repeat(200_000)}`,
      },
      'json_depth',
    ]),
    [
      'a text body that is JSON with a long name',
      { service: 'github', method: 'POST', path: '/x', body: `{"${'n'.repeat(300)}":1}` },
      'json_name_characters',
    ],
    [
      'too many query values of one name',
      {
        service: 'http',
        method: 'GET',
        url: 'https://a.example/',
        query: { a: Array(11).fill('') },
      },
      'query_values',
    ],
    [
      'a query that is too long as a whole',
      {
        service: 'http',
        method: 'GET',
        url: 'https://a.example/',
        query: { a: ['x'.repeat(40_000), 'x'.repeat(30_000)] },
      },
      'query_characters',
    ],
    [
      'too many headers',
      {
        service: 'http',
        method: 'GET',
        url: 'https://a.example/',
        headers: Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`x-${index}`, ''])),
      },
      'headers',
    ],
    [
      'too many query names',
      {
        service: 'github',
        method: 'GET',
        path: '/x',
        query: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`q${index}`, ''])),
      },
      'query_values',
    ],
  ])('with %s is refused as too_large, naming the limit $2', ([, body, limit]) => {
    expect(() => parse(body)).toThrow(
      expect.objectContaining({ code: 'too_large', details: expect.objectContaining({ limit }) }),
    );
  });

  test('with a text body is measured if the text is JSON', () => {
    const countedValues: number[] = [];
    const parseAndCount = (body: string) =>
      parseCallBody(
        { service: 'github', method: 'POST', path: '/x', body },
        { idempotencyKey: null, waitMs: 0 },
        { ...limits, onJsonText: ({ values }) => countedValues.push(values) },
      );
    parseAndCount('{"a":[1,2]}');
    parseAndCount('a letter, with {"a": [1, 2]} in it');

    expect(countedValues).toEqual([4]);
  });

  test('with params as JSON text is refused as invalid_request if a name occurs twice', () => {
    const body = { service: 'github', action: 'a', params: '{"title":"a","title":"b"}' };

    expect(() => parse(body)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });
});
