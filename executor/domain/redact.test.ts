import { describe, expect, test } from 'vitest';

import type { CompiledAction } from '#contracts/template';
import { actionOf } from './action.testing.ts';
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

function show(redact: string[], action: CompiledAction = base) {
  const redacting = { ...action, redact };
  const { projection } = buildActionRequest({
    action: redacting,
    params,
    baseUrl,
    callDigest: 'd'.repeat(64),
  });
  return showRequest(projection, { action: redacting, baseUrl, fromAction: true });
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
    const { projection } = buildActionRequest({
      action,
      params: { id: '7', body_id: 'CANARY-id' },
      baseUrl,
      callDigest: 'd'.repeat(64),
    });

    expect(projection.body).toEqual({ id: 'CANARY-id' });
    expect(showRequest(projection, { action, baseUrl, fromAction: true })).toMatchObject({
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
      ...{ method: 'POST' as const, url: `${baseUrl}/users/7?token=CANARY-t` },
      ...{ params: { token: 'CANARY-t' }, body: { user, notes } },
    };
    const [id, token, ...others] = base.params;
    const named = { ...token!, name: path.startsWith('user_') ? 'user_token' : 'token' };
    const action = { ...base, params: [id!, named, ...others], redact: [path] };
    const showing = { action, baseUrl, fromAction: false };

    expect(JSON.stringify(showRequest(projection, showing))).not.toContain(canary);
    const texts = { ...projection, body: JSON.stringify(projection.body) };
    const shown = showRequest(texts, showing);
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

  test('a request over 100 KiB is called too large, never cut', () => {
    const projection = {
      method: 'POST' as const,
      url: baseUrl,
      params: {},
      body: 'x'.repeat(110_000),
    };

    expect(
      showRequest(projection, { action: undefined, baseUrl: null, fromAction: false }),
    ).toEqual({
      too_large: true,
      method: 'POST',
      url: baseUrl,
    });
  });

  test('names the params that a sentence may not show', () => {
    expect([
      ...redactedParams({ ...base, redact: ['body.user.password', 'params.token'] }),
    ]).toEqual(['user', 'token']);
  });
});
