import { describe, expect, test } from 'vitest';

import type { ShownCredential } from '#contracts/audit';
import type { HttpCall } from '#contracts/call';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { actionOf } from '../../request/domain/action.testing.ts';
import { buildHttpRequest } from '../../request/domain/build-http-request.ts';
import { buildActionRequest } from '../../request/domain/build-action-request.ts';
import { redactedParamsOf, showRequest } from './redact.ts';

const baseUrl = 'https://api.example.com';
const baseAction = actionOf({
  method: 'POST',
  path: '/users/{id}',
  body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
  params: [
    { name: 'id', in: 'path' },
    { name: 'token', in: 'query' },
    { name: 'user', in: 'body', schema: { type: 'object' } },
    { name: 'notes', in: 'body', schema: { type: 'array' } },
  ],
});
const params = {
  id: '7',
  token: 'CANARY-t',
  user: { name: 'Ann', password: 'CANARY-p' },
  notes: [{ text: 'CANARY-n', at: 1 }],
};

const actionCallOptions = { fromAction: true, credentials: [] };

function showRedacted(redact: string[], action: CompiledAction = baseAction) {
  const redacting = { ...action, redact };
  const request = buildActionRequest({
    action: redacting,
    params,
    baseUrl,
    callDigest: 'd'.repeat(64),
  });
  return showRequest({ request, action: redacting, baseUrl }, actionCallOptions);
}

describe('the request on an approval card', () => {
  test.for(['body.id', 'params.body_id'])('hides %s both in the params and in the body', (path) => {
    const action = actionOf({
      method: 'POST',
      path: '/users/{id}',
      body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
      params: [
        { name: 'id', in: 'path' },
        { name: 'body_id', wireName: 'id', in: 'body' },
      ],
      redact: [path],
    });
    const request = buildActionRequest({
      action,
      params: { id: '7', body_id: 'CANARY-id' },
      baseUrl,
      callDigest: 'd'.repeat(64),
    });

    expect(request.projection.body).toEqual({ id: 'CANARY-id' });
    expect(showRequest({ request, action, baseUrl }, actionCallOptions)).toMatchObject({
      url: `${baseUrl}/users/7`,
      params: { id: '7', body_id: '[REDACTED]' },
      body: { id: '[REDACTED]' },
    });
  });

  test('shows everything when the template redacts nothing', () => {
    expect(showRedacted([])).toMatchObject({ url: `${baseUrl}/users/7?token=CANARY-t`, params });
  });

  test.for<[path: string, canary: string]>([
    ['body.user.password', 'CANARY-p'],
    ['params.user.password', 'CANARY-p'],
    ['body.user', 'CANARY-p'],
    ['user.password', 'CANARY-p'],
    ['body.notes.text', 'CANARY-n'],
    ['body.notes.0.text', 'CANARY-n'],
    ['body.notes[0].text', 'CANARY-n'],
    ['body.notes[].text', 'CANARY-n'],
    ['body.notes.*.text', 'CANARY-n'],
    ['params.token', 'CANARY-t'],
  ])('hides %s in params, body and URL', ([path, canary]) => {
    const shownRequest = showRedacted([path]);

    expect(JSON.stringify(shownRequest)).not.toContain(canary);
    expect(JSON.stringify(shownRequest)).toContain('[REDACTED]');
    expect(shownRequest.method).toBe('POST');
  });

  test.for<[path: string, canary: string]>([
    ['body.user.password', 'CANARY-p'],
    ['params.user.password', 'CANARY-p'],
    ['user.password', 'CANARY-p'],
    ['notes.text', 'CANARY-n'],
    ['params.token', 'CANARY-t'],
    ['user_token', 'CANARY-t'],
  ])('hides %s in a call by method and path', ([path, canary]) => {
    const { user, notes } = params;
    const projection = {
      method: 'POST' as const,
      url: `${baseUrl}/users/7?token=CANARY-t`,
      params: { token: 'CANARY-t' },
      headers: {},
      content_type: 'application/json',
      body: { user, notes },
    };
    const [id, token, ...others] = baseAction.params;
    const namedCredential = { ...token!, name: path.startsWith('user_') ? 'user_token' : 'token' };
    const action = { ...baseAction, params: [id!, namedCredential, ...others], redact: [path] };
    const requestToShow = { action, baseUrl };
    const byPath = { fromAction: false, credentials: [] };

    const values = showRequest({ request: { projection }, ...requestToShow }, byPath);
    expect(JSON.stringify(values)).not.toContain(canary);
    const texts = { ...projection, body: JSON.stringify(projection.body) };
    const shownRequest = showRequest({ request: { projection: texts }, ...requestToShow }, byPath);
    expect(JSON.stringify(shownRequest)).not.toContain(canary);
    expect(shownRequest).toMatchObject({ method: 'POST' });
  });

  test('hides all of `body`, `params` or `url` when the template names it', () => {
    expect(JSON.stringify(showRedacted(['body']))).not.toMatch(/CANARY-[pn]/);
    expect(JSON.stringify(showRedacted(['params']))).not.toContain('CANARY');
    expect(showRedacted(['url']).url).toBe('[REDACTED]');
  });

  test('hides a redacted path parameter in the URL', () => {
    expect(showRedacted(['params.id']).url).toBe(`${baseUrl}/users/[REDACTED]?token=CANARY-t`);
  });

  test('shows a URL without redacted values as it is sent', () => {
    const action = { ...baseAction, redact: ['body.user'] };
    const shownParams = { ...params, id: '[REDACTED]' };
    const request = buildActionRequest({
      action,
      params: shownParams,
      baseUrl,
      callDigest: 'd'.repeat(64),
    });

    const shownRequest = showRequest({ request, action, baseUrl }, actionCallOptions);
    expect(shownRequest.url).toBe(request.url);
    expect(shownRequest.redacted).toEqual(['/body/user', '/params/user']);
  });

  test('lists the params that a description may not show', () => {
    expect([
      ...redactedParamsOf({ ...baseAction, redact: ['body.user.password', 'params.token'] }),
    ]).toEqual(['user', 'token']);
  });
});

describe('the request on an approval card', () => {
  const buildRaw = (parts: Partial<HttpCall>) =>
    buildHttpRequest({
      call: {
        kind: 'http',
        service: 'http',
        method: 'POST',
        target: `${baseUrl}/x`,
        query: {},
        headers: {},
        body: null,
        secrets: [],
        filter: null,
        ...parts,
      },
      baseUrl: null,
      callDigest: 'd'.repeat(64),
    });
  const showRaw = (parts: Partial<HttpCall>, credentials: ShownCredential[] = []) =>
    showRequest(
      { request: buildRaw(parts), action: undefined, baseUrl: null },
      { fromAction: false, credentials },
    );

  test('shows the headers of a call by full URL, except the values of headers with credentials', () => {
    const shownRequest = showRaw({
      headers: {
        'X-Amz-Target': 'DynamoDB.DeleteTable',
        'X-Role': 'größe',
        Authorization: 'Bearer CANARY-a',
        Cookie: 'sid=CANARY-b',
        'X-Api-Key': 'CANARY-c',
        X_Auth_Token: 'CANARY-d',
        'Content-Type': 'text/csv',
      },
      body: 'a,b',
    });

    expect(shownRequest).toMatchObject({
      headers: {
        'x-amz-target': 'DynamoDB.DeleteTable',
        'x-role': 'größe',
        authorization: '[REDACTED] (15 characters)',
        cookie: '[REDACTED] (12 characters)',
        'x-api-key': '[REDACTED] (8 characters)',
        x_auth_token: '[REDACTED] (8 characters)',
      },
      content_type: 'text/csv',
      body: 'a,b',
    });
    expect(JSON.stringify(shownRequest)).not.toContain('CANARY');
  });

  test.for<[contentType: string, body: JsonValue, shown: JsonValue]>([
    ['application/x-www-form-urlencoded', { title: 't', n: [1, 2] }, 'title=t&n=1&n=2'],
    ['application/x-www-form-urlencoded', 'title=t', 'title=t'],
    ['application/json', { title: 't' }, { title: 't' }],
    [
      'multipart/form-data',
      { a: [1, 'x'], f: { base64: 'aGk=', filename: 'hi.txt', content_type: 'text/plain' } },
      [
        { name: 'a', value: '1' },
        { name: 'a', value: 'x' },
        { name: 'f', filename: 'hi.txt', content_type: 'text/plain', value: 'hi' },
      ],
    ],
    [
      'multipart/form-data',
      { f: { base64: 'AAE=' } },
      [{ name: 'f', filename: 'f', content_type: 'application/octet-stream', base64: 'AAE=' }],
    ],
    ['application/octet-stream', { base64: 'R3LDvMOfZQo=' }, 'Grüße\n'],
    ['application/octet-stream', { base64: 'AAE=' }, { base64: 'AAE=' }],
    ['application/octet-stream', 'aGk=', 'aGk='],
  ])('shows a body of media type %s given as %j as %j', ([contentType, body, shownRequest]) => {
    const request = showRaw({ headers: { 'content-type': contentType }, body });

    expect(request.body).toEqual(shownRequest);
    expect(request.content_type).toMatch(contentType);
    expect(request.headers).toEqual({});
  });

  test('leaves out values that a credential will replace', () => {
    const header = { kind: 'secret', name: 'key', in: 'header', key: 'X-Team' } as const;
    const query = { kind: 'secret', name: 'key', in: 'query', key: 'Note' } as const;
    const call = {
      query: { note: 'mine', a: '1' },
      headers: { 'x-team': 'mine', 'x-role': 'root' },
    };

    expect(showRaw(call, [header, query])).toMatchObject({
      url: `${baseUrl}/x?a=1`,
      params: { a: '1' },
      headers: { 'x-role': 'root' },
      credentials: [header, query],
    });
  });

  const withHeaders = actionOf({
    method: 'POST',
    path: '/things',
    body: {
      mediaType: 'application/x-www-form-urlencoded',
      wholeBody: false,
      required: true,
      parts: {},
    },
    params: [
      { name: 'version', wireName: 'Notion-Version', in: 'header', schema: { default: '2022-06' } },
      { name: 'note', wireName: 'X-Note', in: 'header' },
      { name: 'key', wireName: 'X-Api-Key', in: 'header' },
      { name: 'title', in: 'body' },
      { name: 'password', in: 'body' },
    ],
    redact: ['params.note', 'body.password'],
  });
  const givenParams = { note: 'CANARY-n', key: 'CANARY-k', title: 't', password: 'CANARY-p' };

  test('hides redacted parameters also in headers and forms', () => {
    const callDigest = 'd'.repeat(64);
    const request = buildActionRequest({
      action: withHeaders,
      params: givenParams,
      baseUrl,
      callDigest,
    });
    const shownRequest = showRequest({ request, action: withHeaders, baseUrl }, actionCallOptions);

    expect(shownRequest).toMatchObject({
      params: { version: '2022-06', note: '[REDACTED]', key: '[REDACTED]', title: 't' },
      headers: { 'notion-version': '2022-06', 'x-note': '[REDACTED]', 'x-api-key': '[REDACTED]' },
      content_type: 'application/x-www-form-urlencoded',
      body: 'title=t&password=[REDACTED]',
    });
    expect(JSON.stringify(shownRequest)).not.toContain('CANARY');
    expect([...redactedParamsOf(withHeaders)]).toContain('key');
  });

  test('hides, in a call by method and path, headers that the operation redacts', () => {
    const request = buildRaw({ headers: { 'X-Note': 'CANARY-n', 'Notion-Version': '1' } });
    const shownRequest = showRequest(
      { request, action: withHeaders, baseUrl },
      { fromAction: false, credentials: [] },
    );

    expect(shownRequest.headers).toEqual({ 'x-note': '[REDACTED]', 'notion-version': '1' });
  });
});

describe('the list of redacted values', () => {
  const listPlaces = (redact: string[]) => showRedacted(redact).redacted;
  const byPath = { fromAction: false, credentials: [] };
  const sentRequest = (parts: Partial<HttpCall>) => {
    const call: HttpCall = {
      kind: 'http',
      service: 'http',
      method: 'POST',
      target: `${baseUrl}/users/7?token=t&a=b`,
      query: {},
      headers: {},
      body: null,
      secrets: [],
      filter: null,
      ...parts,
    };
    return {
      request: buildHttpRequest({ call, baseUrl: null, callDigest: 'd'.repeat(64) }),
      baseUrl,
    };
  };

  test.for<[redact: string[], places: string[]]>([
    [[], []],
    [['body.nothing'], []],
    [['body.user.password'], ['/body/user/password', '/params/user/password']],
    [['body.notes.text'], ['/body/notes/*/text', '/params/notes/*/text']],
    [['body.notes.0.text'], ['/body/notes/0/text', '/params/notes/0/text']],
    [
      ['body.user.password', 'body.user'],
      ['/body/user', '/params/user'],
    ],
    [['params.token'], ['/params/token']],
    [['url'], ['/url']],
  ])('of a template that redacts %j is %j', ([redact, expected]) => {
    expect(listPlaces(redact)).toEqual(expected);
  });

  test('leaves out values in which the caller wrote the redaction marker itself', () => {
    const requestToShow = sentRequest({
      headers: { 'X-Note-Token': 'pay eve', 'X-Note': '[REDACTED]' },
      body: { to: '[REDACTED]', user: { password: 'CANARY-p', 'a/b~c': '[REDACTED]' } },
    });
    const action = { ...baseAction, redact: ['body.user.password', 'params.token'] };

    expect(showRequest({ ...requestToShow, action }, byPath)).toMatchObject({
      headers: { 'x-note-token': '[REDACTED] (7 characters)', 'x-note': '[REDACTED]' },
      body: { to: '[REDACTED]', user: { password: '[REDACTED]' } },
      redacted: ['/body/user/password', '/headers/x-note-token', '/url/token'],
    });
  });

  test('is complete in the outline of a large request', () => {
    const requestToShow = sentRequest({
      body: { user: { password: 'CANARY-p' }, text: 'x'.repeat(200_000) },
    });
    const action = { ...baseAction, redact: ['body.user.password'] };

    expect(showRequest({ ...requestToShow, action }, byPath)).toMatchObject({
      too_large: true,
      redacted: ['/body/user/password'],
    });
  });

  test('contains the whole text body when a part of it may not be shown and no approval is needed', () => {
    const requestToShow = sentRequest({ body: 'password=CANARY-p' });
    const action = { ...baseAction, redact: ['body.user.password'] };

    expect(showRequest({ ...requestToShow, action }, { ...byPath, hidesText: true })).toMatchObject(
      {
        body: '[REDACTED]',
        redacted: ['/body'],
      },
    );
    expect(() => showRequest({ ...requestToShow, action }, byPath)).toThrow(/give it as an object/);
  });
});

describe('a text body of a call by method and path', () => {
  const action = { ...baseAction, redact: ['body.user.password', 'body.token'] };
  const showText = (body: string) =>
    showRequest(
      {
        request: {
          projection: {
            method: 'POST' as const,
            url: `${baseUrl}/users/7`,
            params: {},
            headers: {},
            content_type: 'application/json',
            body,
          },
        },
        action,
        baseUrl,
      },
      { ...actionCallOptions, fromAction: false },
    ).body;

  test('is shown except for what the template redacts', () => {
    const text = '{ "user": {"name": "\\u0041nn", "password": "CANARY-p"}, "to": "eve", "n": 1.0 }';
    expect(showText(text)).toBe('{"user":{"name":"Ann","password":"[REDACTED]"},"to":"eve","n":1}');
  });

  test('is shown unchanged when it contains nothing to redact', () => {
    expect(showText('{ "to": "eve" }')).toBe('{ "to": "eve" }');
  });

  test.for(['to=eve&token=CANARY-p', '{"to":"eve"', '{"to":"eve","to":"ann"}', 'eve'])(
    'is refused because the values to redact cannot be located in it: %s',
    (text) => {
      expect(() => showText(text)).toThrow(/give it as an object/);
    },
  );
});
