import { randomUUID } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import type { CallBody } from '#contracts/http/actions';
import { call } from '#contracts/call';
import {
  parseCallBody,
  parseCallHeaders,
  parseConnectionCall,
  parseTriedCall,
  refuseManyNames,
} from './call-body.ts';

const plain = { idempotencyKey: null, waitMs: 0 };
const limits = { depthMax: 8, valuesMax: 100, itemsMax: 50, namesMax: 20, queryValuesMax: 10 };
const parse = (body: CallBody) => parseCallBody(body, plain, limits);

describe('the body of a call', () => {
  test('with an action becomes an action call with its defaults', () => {
    expect(parse({ service: 'github', action: 'issues.get' })).toEqual({
      kind: 'fresh',
      call: { kind: 'action', service: 'github', action: 'issues.get', params: {}, filter: null },
      options: { timeoutMs: 30_000, maxRisk: null, idempotencyKey: null },
    });
  });

  test('with a method and a path becomes a verb call', () => {
    const asked = parse({
      service: 'org/github',
      method: 'GET',
      path: '/user',
      query: { a: ['1'] },
    });

    expect(asked).toMatchObject({
      kind: 'fresh',
      call: { kind: 'http', service: 'org/github', method: 'GET', target: '/user', body: null },
    });
  });

  test.for(['path', 'url'] as const)('for http takes the full URL as %s', (field) => {
    const asked = parse({
      service: 'http',
      method: 'POST',
      [field]: 'https://a.example/b',
      body: [1],
    });

    expect(asked).toMatchObject({ call: { target: 'https://a.example/b', body: [1] } });
  });

  test('with approval_id alone resumes', () => {
    const approvalId = randomUUID();

    expect(parse({ approval_id: approvalId })).toEqual({ kind: 'resume', approvalId });
    expect(parse({ approval_id: approvalId, verbose: true })).toEqual({
      kind: 'resume',
      approvalId,
    });
  });

  test('carries its options', () => {
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
  ])('takes params given as %s', ([, params, parsed]) => {
    expect(parse({ service: 'a', action: 'b', params })).toMatchObject({
      call: { params: parsed },
    });
  });

  test('is a valid call of the contract in every shape', () => {
    const bodies: CallBody[] = [
      { service: 'a', action: 'b' },
      { service: 'a', method: 'DELETE', path: '/x' },
      { service: 'http', method: 'GET', url: 'https://a.example' },
    ];
    for (const body of bodies) {
      const asked = parse(body);
      expect(asked.kind === 'fresh' && call.safeParse(asked.call).success).toBe(true);
    }
  });

  test.for<[name: string, body: CallBody, path: string]>([
    ['nothing', {}, 'service'],
    ['a service alone', { service: 'github' }, 'action'],
    ['an empty action', { service: 'github', action: '' }, 'action'],
    ['an action without service', { action: 'a' }, 'service'],
    ['a service that is no name', { service: 'Git Hub', action: 'a' }, 'service'],
    ['an action and a path', { service: 'github', action: 'a', path: '/x' }, 'path'],
    [
      'params beside a method',
      { service: 'github', method: 'GET', path: '/', params: {} },
      'params',
    ],
    ['a method without path', { service: 'github', method: 'GET' }, 'path'],
    ['a path without method', { service: 'github', path: '/x' }, 'method'],
    ['a path that is no path', { service: 'github', method: 'GET', path: 'x' }, 'path'],
    ['a url for a service', { service: 'github', method: 'GET', url: 'https://a.example' }, 'url'],
    ['an action of http', { service: 'http', action: 'a' }, 'action'],
    ['http without url', { service: 'http', method: 'GET' }, 'url'],
    ['http with a path only', { service: 'http', method: 'GET', path: '/x' }, 'path'],
    [
      'http with both',
      { service: 'http', method: 'GET', path: 'https://a', url: 'https://a' },
      'path',
    ],
    [
      'http of another scheme',
      { service: 'http', method: 'GET', url: 'file:///etc/passwd' },
      'url',
    ],
    ['approval_id and service', { approval_id: randomUUID(), service: 'github' }, 'service'],
    ['approval_id and params', { approval_id: randomUUID(), params: {} }, 'params'],
    ['params that are no object', { service: 'a', action: 'b', params: '[1]' }, 'params'],
    ['params that are no JSON', { service: 'a', action: 'b', params: '{' }, 'params'],
    ['params that poison', { service: 'a', action: 'b', params: '{"__proto__":{}}' }, 'params'],
  ])('%s is refused, naming the field', ([, body, path]) => {
    expect(() => parse(body)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: { issues: expect.arrayContaining([expect.objectContaining({ path })]) },
      }),
    );
  });

  test('suggests the lower-case name of a service', () => {
    expect(() => parse({ service: 'GitHub', action: 'a' })).toThrow(
      expect.objectContaining({
        details: { issues: [expect.objectContaining({ did_you_mean: 'github' })] },
      }),
    );
  });
});

describe('the body of a call through a connection', () => {
  const through = { connection: 'org/google', method: 'POST', url: 'https://a.example/b' } as const;
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

  test('becomes a raw call that names the connection', () => {
    const body = { ...through, body: [1], filter: '.a', max_risk: 'write' as const };
    const asked = parseConnectionCall(body, { ...plain, idempotencyKey: 'k' }, limits);

    expect(asked).toEqual({
      kind: 'fresh',
      call: asCalled,
      options: { timeoutMs: 30_000, maxRisk: 'write', idempotencyKey: 'k' },
    });
    expect(asked.kind === 'fresh' && call.parse(asked.call)).toEqual(asCalled);
  });

  test('is tried out as it would be called', () => {
    expect(parseTriedCall({ ...through, body: [1], filter: '.a' }, limits)).toEqual(asCalled);
    expect(parseTriedCall({ service: 'github', action: 'a' }, limits)).not.toHaveProperty(
      'connection',
    );
  });

  test.for([
    [{ service: 'github' }, 'service'],
    [{ action: 'a' }, 'action'],
    [{ path: '/a' }, 'path'],
    [{ secrets: [{ name: 'a', in: 'header', key: 'b' }] }, 'secrets'],
  ] as const)('is not tried out with %j', ([more, path]) => {
    const tried = () => parseTriedCall({ ...through, ...structuredClone(more) } as never, limits);

    expect(tried).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: { issues: [expect.objectContaining({ path })] },
      }),
    );
  });

  test.for(['/b', 'ftp://a.example/', 'https:///b', ''])('needs a full URL, not %j', (url) => {
    expect(() => parseConnectionCall({ ...through, url }, plain, limits)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });
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
  ])('Prefer: %s waits %d ms', ([prefer, waitMs]) => {
    expect(parseCallHeaders({ prefer }).waitMs).toBe(waitMs);
  });

  test('an Idempotency-Key is taken as it is', () => {
    expect(parseCallHeaders({ 'idempotency-key': 'order-17' }).idempotencyKey).toBe('order-17');
    expect(parseCallHeaders({}).idempotencyKey).toBeNull();
  });

  test.for(['', 'two words', 'ü', 'x'.repeat(201)])(
    'the Idempotency-Key "%s" is refused',
    (key) => {
      expect(() => parseCallHeaders({ 'idempotency-key': key })).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    },
  );
});

describe('what a call may hold', () => {
  test.for<[what: string, body: CallBody, limit: string]>([
    [
      'a list too long in params that are sent as text',
      { service: 'github', action: 'a', params: JSON.stringify({ labels: Array(51).fill(0) }) },
      'json_list_items',
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
  ])('%s is too_large, with the limit', ([, body, limit]) => {
    expect(() => parse(body)).toThrow(
      expect.objectContaining({ code: 'too_large', details: expect.objectContaining({ limit }) }),
    );
  });

  test('a name twice in params that are sent as text is refused', () => {
    const body = { service: 'github', action: 'a', params: '{"title":"a","title":"b"}' };

    expect(() => parse(body)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  test('too many names in a query, headers or variables are refused before any of them is looked at', () => {
    const wrong = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`n${index}`, 0]));

    expect(() => refuseManyNames({ query: wrong }, limits)).toThrow(
      expect.objectContaining({ details: { limit: 'query_values', max: 10 } }),
    );
    expect(() => refuseManyNames({ headers: wrong }, limits)).toThrow(
      expect.objectContaining({ details: { limit: 'headers', max: 200 } }),
    );
    expect(() => refuseManyNames({ variables: wrong }, limits)).toThrow(
      expect.objectContaining({ details: { limit: 'variables', max: 200 } }),
    );
    for (const body of [undefined, null, 'text', [], { query: 'text', headers: { a: 0 } }]) {
      expect(() => refuseManyNames(body, limits)).not.toThrow();
    }
  });
});
