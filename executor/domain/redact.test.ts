import { describe, expect, test } from 'vitest';

import type { ShownCredential } from '#contracts/audit';
import type { HttpCall } from '#contracts/call';
import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { actionOf } from './action.testing.ts';
import { buildHttpRequest } from './build-http-request.ts';
import { buildActionRequest } from './build-request.ts';
import { redactedParams, showRequest } from './redact.ts';

const baseUrl = 'https://api.example.com';
const base = actionOf({
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

const called = { fromAction: true, credentials: [] };

function show(redact: string[], action: CompiledAction = base) {
  const redacting = { ...action, redact };
  const request = buildActionRequest({
    action: redacting,
    params,
    baseUrl,
    callDigest: 'd'.repeat(64),
  });
  return showRequest({ request, action: redacting, baseUrl }, called);
}

describe('the shown request', () => {
  test.for(['body.id', 'params.body_id'])('hides %s under both of its names', (path) => {
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
    expect(showRequest({ request, action, baseUrl }, called)).toMatchObject({
      url: `${baseUrl}/users/7`,
      params: { id: '7', body_id: '[REDACTED]' },
      body: { id: '[REDACTED]' },
    });
  });

  test('shows everything when nothing is redacted', () => {
    expect(show([])).toMatchObject({ url: `${baseUrl}/users/7?token=CANARY-t`, params });
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
  ])('%s is gone from params, body and URL alike', ([path, canary]) => {
    const shown = show([path]);

    expect(JSON.stringify(shown)).not.toContain(canary);
    expect(JSON.stringify(shown)).toContain('[REDACTED]');
    expect(shown.method).toBe('POST');
  });

  test.for<[path: string, canary: string]>([
    ['body.user.password', 'CANARY-p'],
    ['params.user.password', 'CANARY-p'],
    ['user.password', 'CANARY-p'],
    ['notes.text', 'CANARY-n'],
    ['params.token', 'CANARY-t'],
    ['user_token', 'CANARY-t'],
  ])('%s is gone from a call by method and path too', ([path, canary]) => {
    const { user, notes } = params;
    const projection = {
      method: 'POST' as const,
      url: `${baseUrl}/users/7?token=CANARY-t`,
      params: { token: 'CANARY-t' },
      headers: {},
      content_type: 'application/json',
      body: { user, notes },
    };
    const [id, token, ...others] = base.params;
    const named = { ...token!, name: path.startsWith('user_') ? 'user_token' : 'token' };
    const action = { ...base, params: [id!, named, ...others], redact: [path] };
    const showing = { action, baseUrl };
    const byPath = { fromAction: false, credentials: [] };

    const values = showRequest({ request: { projection }, ...showing }, byPath);
    expect(JSON.stringify(values)).not.toContain(canary);
    const texts = { ...projection, body: JSON.stringify(projection.body) };
    const shown = showRequest({ request: { projection: texts }, ...showing }, byPath);
    expect(JSON.stringify(shown)).not.toContain(canary);
    expect(shown).toMatchObject({ method: 'POST' });
  });

  test('`body` and `params` and `url` take the whole of it', () => {
    expect(JSON.stringify(show(['body']))).not.toMatch(/CANARY-[pn]/);
    expect(JSON.stringify(show(['params']))).not.toContain('CANARY');
    expect(show(['url']).url).toBe('[REDACTED]');
  });

  test('a redacted path parameter is gone from the URL', () => {
    expect(show(['params.id']).url).toBe(`${baseUrl}/users/[REDACTED]?token=CANARY-t`);
  });

  test('shows a URL of which nothing is hidden as it is sent', () => {
    const action = { ...base, redact: ['body.user'] };
    const given = { ...params, id: '[REDACTED]' };
    const request = buildActionRequest({
      action,
      params: given,
      baseUrl,
      callDigest: 'd'.repeat(64),
    });

    const shown = showRequest({ request, action, baseUrl }, called);
    expect(shown.url).toBe(request.url);
    expect(shown.redacted).toEqual(['/body/user', '/params/user']);
  });

  test('names the params that a sentence may not show', () => {
    expect([
      ...redactedParams({ ...base, redact: ['body.user.password', 'params.token'] }),
    ]).toEqual(['user', 'token']);
  });
});

describe('the headers, the form and the credentials of a shown request', () => {
  const raw = (parts: Partial<HttpCall>) =>
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
      { request: raw(parts), action: undefined, baseUrl: null },
      { fromAction: false, credentials },
    );

  test('headers of a raw call are shown as they are sent, credentials among them by name', () => {
    const shown = showRaw({
      headers: {
        'X-Amz-Target': 'DynamoDB.DeleteTable',
        Sudo: 'größe',
        Authorization: 'Bearer CANARY-a',
        Cookie: 'sid=CANARY-b',
        'X-Api-Key': 'CANARY-c',
        X_Auth_Token: 'CANARY-d',
        'Content-Type': 'text/csv',
      },
      body: 'a,b',
    });

    expect(shown).toMatchObject({
      headers: {
        'x-amz-target': 'DynamoDB.DeleteTable',
        sudo: 'größe',
        authorization: '[REDACTED]',
        cookie: '[REDACTED]',
        'x-api-key': '[REDACTED]',
        x_auth_token: '[REDACTED]',
      },
      content_type: 'text/csv',
      body: 'a,b',
    });
    expect(JSON.stringify(shown)).not.toContain('CANARY');
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
        { name: 'f', filename: 'hi.txt', content_type: 'text/plain', base64: 'aGk=' },
      ],
    ],
  ])('a body of %s is shown as that: %j', ([contentType, body, shown]) => {
    const request = showRaw({ headers: { 'content-type': contentType }, body });

    expect(request.body).toEqual(shown);
    expect(request.content_type).toMatch(contentType);
    expect(request.headers).toEqual({});
  });

  test('what a credential replaces is not shown as if it were sent', () => {
    const header = { kind: 'secret', name: 'key', in: 'header', key: 'X-Team' } as const;
    const query = { kind: 'secret', name: 'key', in: 'query', key: 'Note' } as const;
    const call = { query: { note: 'mine', a: '1' }, headers: { 'x-team': 'mine', sudo: 'root' } };

    expect(showRaw(call, [header, query])).toMatchObject({
      url: `${baseUrl}/x?a=1`,
      params: { a: '1' },
      headers: { sudo: 'root' },
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
  const given = { note: 'CANARY-n', key: 'CANARY-k', title: 't', password: 'CANARY-p' };

  test('redacted parameters are gone from the headers and the form that were made of them', () => {
    const callDigest = 'd'.repeat(64);
    const request = buildActionRequest({ action: withHeaders, params: given, baseUrl, callDigest });
    const shown = showRequest({ request, action: withHeaders, baseUrl }, called);

    expect(shown).toMatchObject({
      params: { version: '2022-06', note: '[REDACTED]', key: '[REDACTED]', title: 't' },
      headers: { 'notion-version': '2022-06', 'x-note': '[REDACTED]', 'x-api-key': '[REDACTED]' },
      content_type: 'application/x-www-form-urlencoded',
      body: 'title=t&password=[REDACTED]',
    });
    expect(JSON.stringify(shown)).not.toContain('CANARY');
    expect([...redactedParams(withHeaders)]).toContain('key');
  });

  test('a call by method and path hides the headers that its operation redacts', () => {
    const request = raw({ headers: { 'X-Note': 'CANARY-n', 'Notion-Version': '1' } });
    const shown = showRequest(
      { request, action: withHeaders, baseUrl },
      { fromAction: false, credentials: [] },
    );

    expect(shown.headers).toEqual({ 'x-note': '[REDACTED]', 'notion-version': '1' });
  });
});

describe('the places where [REDACTED] stands for something else', () => {
  const places = (redact: string[]) => show(redact).redacted;
  const byPath = { fromAction: false, credentials: [] };
  const sent = (parts: Partial<HttpCall>) => {
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
  ])('of a template with %j are %j', ([redact, expected]) => {
    expect(places(redact)).toEqual(expected);
  });

  test('are none of those where the caller wrote the same', () => {
    const showing = sent({
      headers: { 'X-Note-Token': 'pay eve', 'X-Note': '[REDACTED]' },
      body: { to: '[REDACTED]', user: { password: 'CANARY-p', 'a/b~c': '[REDACTED]' } },
    });
    const action = { ...base, redact: ['body.user.password', 'params.token'] };

    expect(showRequest({ ...showing, action }, byPath)).toMatchObject({
      headers: { 'x-note-token': '[REDACTED]', 'x-note': '[REDACTED]' },
      body: { to: '[REDACTED]', user: { password: '[REDACTED]' } },
      redacted: ['/body/user/password', '/headers/x-note-token', '/url/token'],
    });
  });

  test('are in an outline too, and none of them is cut', () => {
    const showing = sent({ body: { user: { password: 'CANARY-p' }, text: 'x'.repeat(200_000) } });
    const action = { ...base, redact: ['body.user.password'] };

    expect(showRequest({ ...showing, action }, byPath)).toMatchObject({
      too_large: true,
      redacted: ['/body/user/password'],
    });
  });

  test('of a text that may not be shown are all of it, where nobody is asked about it', () => {
    const showing = sent({ body: 'password=CANARY-p' });
    const action = { ...base, redact: ['body.user.password'] };

    expect(showRequest({ ...showing, action }, { ...byPath, hidesText: true })).toMatchObject({
      body: '[REDACTED]',
      redacted: ['/body'],
    });
    expect(() => showRequest({ ...showing, action }, byPath)).toThrow(/give it as an object/);
  });
});

describe('a body that a call by method and path gives as a text', () => {
  const action = { ...base, redact: ['body.user.password', 'body.token'] };
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
      { ...called, fromAction: false },
    ).body;

  test('is shown but for what the template redacts', () => {
    const text = '{ "user": {"name": "\\u0041nn", "password": "CANARY-p"}, "to": "eve", "n": 1.0 }';
    expect(showText(text)).toBe('{"user":{"name":"Ann","password":"[REDACTED]"},"to":"eve","n":1}');
  });

  test('is shown as it is where it holds nothing of that', () => {
    expect(showText('{ "to": "eve" }')).toBe('{ "to": "eve" }');
  });

  test.for(['to=eve&token=CANARY-p', '{"to":"eve"', '{"to":"eve","to":"ann"}', 'eve'])(
    'is not asked about where it cannot be shown: %s',
    (text) => {
      expect(() => showText(text)).toThrow(/give it as an object/);
    },
  );
});
