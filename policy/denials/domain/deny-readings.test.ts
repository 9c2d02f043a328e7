import { describe, expect, test } from 'vitest';

import type { CompiledTemplate } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { compilePattern } from '#permission-key';
import { actionOf, paramOf, templateOf } from '../../action.testing.ts';
import { parsePattern } from '../../rules/domain/pattern-text.ts';
import { neighbourNames } from './deny-names.ts';
import type { Neighbour } from './deny-names.ts';
import { couldDeny } from './deny-patterns.ts';
import { compileParamCheck } from './param-check.ts';
import { readQuery } from './sent-query.ts';

const denyPattern = (text: string) => compilePattern(parsePattern(text), false);
const fits: Neighbour['fits'] = (param, value) => compileParamCheck(param.schema)(value);

describe('a deny rule matches every way in which servers may read a request', () => {
  const send = actionOf('send', {
    method: 'POST',
    path: '/send',
    scopeParam: 'to',
    risk: 'write',
    params: [paramOf('to', 'query')],
  });
  const post = actionOf('post', {
    method: 'POST',
    path: '/post',
    scopeParam: 'to',
    risk: 'write',
    params: [paramOf('to', 'body')],
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
  });
  const id = paramOf('id', 'path');
  const read = actionOf('read', { path: '/notes/{id}', scopeParam: 'id', params: [id] });
  const patchFields = { method: 'PATCH', risk: 'write' } as const;
  const patch = actionOf('patch', { ...patchFields, path: '/cards/{id}', params: [id] });
  const wipe = actionOf('wipe', {
    method: 'POST',
    path: '/notes/{id}/wipe',
    scopeParam: 'id',
    risk: 'delete',
    params: [id],
  });
  const tag = actionOf('tag', { method: 'POST', path: '/tags/{id}', params: [id], risk: 'write' });
  const pick = actionOf('pick', {
    path: '/pick',
    scopeParam: 'ids',
    params: [
      paramOf('ids', 'query', {
        style: 'spaceDelimited',
        explode: false,
        schema: { type: 'array', items: { type: 'string' } },
      }),
    ],
  });
  const api = templateOf([send, post, read, patch, wipe, tag, pick], { key: 'api' });
  /** A template that lists every path, so that requests outside `api` are not unknown. */
  const catchAll = templateOf(
    (['GET', 'POST', 'PUT', 'PATCH'] as const).map((method) =>
      actionOf(method, {
        method,
        path: '/{any}',
        risk: method === 'GET' ? 'read' : 'write',
        params: [paramOf('any', 'path', { allowReserved: true })],
      }),
    ),
    { key: 'all' },
  );
  const graphTemplate = templateOf(
    [actionOf('ask', { method: 'POST', path: '/graphql', multiplex: true, risk: 'write' })],
    { key: 'graph' },
  );

  interface SentFields {
    readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
    readonly path: string;
    readonly search?: string;
    readonly body?: JsonValue;
    readonly prefix?: string;
    readonly beside?: readonly CompiledTemplate[];
    readonly leastRisk?: 'delete';
  }
  const isDenied = (rule: string, sentRequest: SentFields) => {
    const {
      method = 'GET',
      path,
      search = '',
      body = null,
      prefix = '',
      beside = [],
    } = sentRequest;
    const risk = method === 'GET' ? 'read' : 'write';
    const neighbours = [
      { names: ['api'], prefix, template: api, fits },
      ...beside.map((template) => ({ names: [template.key], prefix: '', template, fits })),
    ];
    return neighbourNames(neighbours, { method, path, ...readQuery(search), body }, { risk }).some(
      (name) =>
        (sentRequest.leastRisk === undefined || name.risk === sentRequest.leastRisk) &&
        couldDeny(denyPattern(rule), name),
    );
  };

  test.for(['//v1/notes/s', '/V1/notes/s', '/v1;x=1/notes/s', '/v1%3Bx/notes/s', '/v1//notes/s'])(
    'below the base path /v1 of a service: %s',
    (path) => {
      const sentRequest = { path, prefix: '/v1', beside: [catchAll] };
      expect(isDenied('api:read:s', sentRequest)).toBe(true);
      expect(isDenied('api:read:t', sentRequest)).toBe(false);
    },
  );

  test('with another spelling of the base path, also for a rule for the risk delete alone', () => {
    const sentRequest = { method: 'POST', path: '/V1/notes/s/wipe', prefix: '/v1' } as const;
    expect(isDenied('api:wipe:s', { ...sentRequest, leastRisk: 'delete' })).toBe(true);
  });

  test.for<[search: string, expected: boolean]>([
    ['to=ann;to=bob', true],
    ['to=ann&x=1;to=bob', true],
    ['to=ann;to[0]=bob', true],
    ['to=ann&%2574o=bob', true],
    ['to=ann&t%256F%255B0%255D=bob', true],
    ['to=ann&to%09=bob', true],
    ['to=ann&%EF%BD%94o=bob', true],
    ['to=bob%00x', true],
    ['to=ann|bob', true],
    ['to=b%256Fb', true],
    ['to=%EF%BD%82ob', true],
    ['to=b%C2%ADob', true],
    ['to=%C1%A2ob', true],
    ['to=ann;to=cid', false],
    ['to=ann;x=1', false],
    ['to=ann+bell', false],
  ])('in the query ?%s, where a rule for to=bob matches: %s', ([search, expected]) => {
    expect(isDenied('api:send:bob', { method: 'POST', path: '/send', search })).toBe(expected);
  });

  test('with a plus sign in the query or path, which may mean a plus or a blank', () => {
    for (const rule of ['api:send:+49123', 'api:send:49123']) {
      const sentRequest = { method: 'POST', path: '/send', search: 'to=+49123' } as const;
      expect(isDenied(rule, sentRequest)).toBe(true);
    }
    for (const rule of ['api:read:my note', 'api:read:my+note']) {
      expect(isDenied(rule, { path: '/notes/my+note' })).toBe(true);
    }
  });

  test('with a list that is separated by blanks, for a list parameter only', () => {
    expect(isDenied('api:pick:b', { path: '/pick', search: 'ids=a%20b' })).toBe(true);
    expect(isDenied('api:read:b', { path: '/notes/a%20b' })).toBe(false);
  });

  test('with a body parameter in the query, or a query parameter in the body', () => {
    const sentRequest = { method: 'POST', path: '/post', body: { to: 'ann' } } as const;
    expect(isDenied('api:post:bob', { ...sentRequest, search: 'to=bob' })).toBe(true);
    expect(isDenied('api:post:bob', { ...sentRequest, search: 'x=bob' })).toBe(false);
    const other = { method: 'POST', path: '/send', search: 'to=ann' } as const;
    expect(isDenied('api:send:bob', { ...other, body: { to: 'bob' } })).toBe(true);
    expect(isDenied('api:send:bob', { ...other, body: { text: 'bob' } })).toBe(false);
  });

  test.for<JsonValue>([
    [{ to: 'ann' }, { to: 'bob' }],
    '{"to":"bob"}',
    'to=bob',
    { to: 'ann', t_o: 'bob' },
    { to: ['ann', { email: 'bob' }] },
  ])('in the body %j, which a rule for to=bob matches', (body) => {
    expect(isDenied('api:post:bob', { method: 'POST', path: '/post', body })).toBe(true);
  });

  test('with a number in any spelling', () => {
    const isDeniedRecipient = (rule: string, to: JsonValue) =>
      isDenied(`api:send:${rule}`, { method: 'POST', path: '/send', search: `to=${String(to)}` });
    for (const text of ['1', '01', '1.0', '1.', '1e0', '%2B1', '0x1', '10e-1', '%EF%BC%91']) {
      expect([text, isDeniedRecipient('1', text)]).toEqual([text, true]);
    }
    for (const text of ['1', '01']) expect(isDeniedRecipient('1.0', text)).toBe(true);
    expect(isDeniedRecipient('0', '-0')).toBe(true);
    expect(isDeniedRecipient('1', '10')).toBe(false);
    expect(isDeniedRecipient('0.5', '.50')).toBe(true);
    expect(isDeniedRecipient('9007199254740993', '9007199254740992')).toBe(false);
    expect(isDeniedRecipient('1e1000', '1')).toBe(false);
  });

  test.for<[rule: string, path: string]>([
    ['api:read:s', '/notes/s.json'],
    ['api:read:s', '/notes/s%3Bv=1'],
    ['api:read:s', '/notes%3Bv=1/s'],
    ['api:read:s', '/notes/%2573'],
    ['api:read:s', '/n%256Ftes/s'],
    ['api:read:s', '/x/%252e%252e/notes/s'],
  ])('in the path: the rule %s matches the path %s', ([rule, path]) => {
    expect(isDenied(rule, { path, beside: [catchAll] })).toBe(true);
  });

  test('with an encoded slash in the path', () => {
    const sentRequest = { method: 'POST', path: '/tags/..%2Fx' } as const;
    expect(isDenied('api:wipe:s', sentRequest)).toBe(false);
    const wiping = { method: 'POST', path: '/notes%2Fs%2Fwipe', beside: [catchAll] } as const;
    expect(isDenied('api:wipe:s', wiping)).toBe(true);
    expect(isDenied('api:wipe:t', wiping)).toBe(false);
  });

  test('with the path of a denied operation and another method, when no template lists this request', () => {
    expect(isDenied('api:patch:*', { method: 'PUT', path: '/cards/7' })).toBe(true);
    expect(isDenied('api:send:bob', { path: '/send', search: 'to=bob' })).toBe(true);
    expect(isDenied('api:patch:*', { method: 'PUT', path: '/decks/7' })).toBe(false);
    // The template `catchAll` on the same host lists the request, so the request is no unknown
    // operation.
    const knownRequest = { method: 'PUT', path: '/cards/7', beside: [catchAll] } as const;
    expect(isDenied('api:patch:*', knownRequest)).toBe(false);
  });

  test('with a POST that no template lists, which may be a batch of any operations', () => {
    const batch = { method: 'POST', path: '/$batch' } as const;
    for (const rule of ['api:read:s', 'api:patch:*', 'api:send:bob']) {
      expect(isDenied(rule, batch)).toBe(true);
    }
    expect(isDenied('api:patch:*', { ...batch, beside: [catchAll] })).toBe(false);
    expect(isDenied('api:patch:*', { ...batch, method: 'PUT' })).toBe(false);
  });

  test('with another method at the path of an operation that carries other operations', () => {
    const sentRequest = { path: '/graphql', search: 'query=mutation%7Bx%7D' };
    expect(isDenied('api:send:bob', { ...sentRequest, beside: [graphTemplate] })).toBe(true);
    const listedTemplate = templateOf([actionOf('page', { path: '/graphql' })], { key: 'pages' });
    expect(
      isDenied('api:send:bob', { ...sentRequest, beside: [graphTemplate, listedTemplate] }),
    ).toBe(false);
  });

  test('but does not match ordinary requests with another argument', () => {
    for (const path of ['/notes/other.json', '/notes/a+b', '/notes/50%25', '/notes/caf%C3%A9']) {
      expect(isDenied('api:read:s', { path })).toBe(false);
    }
  });
});
