import { describe, expect, test } from 'vitest';

import { actionOf, paramOf, templateOf } from './action.testing.ts';
import { clamp, disclosedField } from './disclose.ts';
import { inject } from './inject.ts';
import { nextParams } from './next-page.ts';
import { findOperations } from '#templates';
import { redirectTarget } from './redirect.ts';
import { createScrubber } from './scrub.ts';
import { shapeBody, shapeHeaders } from './shape-body.ts';

const none = createScrubber([]);

function shape(
  text: string | Uint8Array,
  contentType: string,
  lost: 'too_large' | 'incomplete' | null = null,
) {
  const body = typeof text === 'string' ? Buffer.from(text) : text;
  const received = { status: 200, headers: [['content-length', '9']] as const, body, lost };
  return shapeBody(received, { contentType, binary: false, scrubber: none });
}

describe('the body of an answer', () => {
  test('is JSON when the upstream sent JSON, else text, else null', () => {
    expect(shape('{"a":1}', 'application/json; charset=utf-8').body).toEqual({ a: 1 });
    expect(shape('{"a":1}', 'application/vnd.api+json').body).toEqual({ a: 1 });
    expect(shape('{"a":1}', '').body).toEqual({ a: 1 });
    expect(shape('{"a":1}', 'text/plain').body).toBe('{"a":1}');
    expect(shape('{"a"', 'application/json').body).toBe('{"a"');
    expect(shape('', 'application/json')).toEqual({ body: null });
  });

  test('keeps a __proto__ key a mere key', () => {
    const { body } = shape('{"__proto__":{"x":1},"b":"\\n"}', 'application/json');

    expect(Object.keys(body as object)).toEqual(['__proto__', 'b']);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  test('is text when it is nested too deeply for its readers', () => {
    const deep = '['.repeat(5_000) + ']'.repeat(5_000);

    expect(shape(deep, 'application/json').body).toBe(deep);
  });

  test('stays JSON when what was taken out was a number', () => {
    const shaped = shapeBody(
      { status: 200, headers: [], body: Buffer.from('{"pin":12345678}'), lost: null },
      {
        contentType: 'application/json',
        binary: false,
        scrubber: createScrubber(['12345678']),
      },
    );

    expect(shaped).toEqual({ body: { pin: '[REDACTED]' }, jsonText: '{"pin":"[REDACTED]"}' });
  });

  test('is read in its charset', () => {
    expect(shape(Buffer.from('ü', 'latin1'), 'text/plain; charset=iso-8859-1').body).toBe('ü');
    const japanese = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);
    expect(shape(japanese, 'text/html; charset="Shift_JIS"').body).toBe('日本');
    expect(
      shape(Buffer.from('{"a":"ü"}', 'utf16le'), 'application/json; charset=utf-16le').body,
    ).toEqual({ a: 'ü' });
    expect(shape(Buffer.from('\ufeff{"a":1}'), 'application/json').body).toEqual({ a: 1 });
    expect(shape(Buffer.from('ü'), 'text/plain; charset=nonsense').body).toBe('ü');
  });

  test('is a file when it is bytes, and a byte order mark says which text it is', () => {
    expect(shape(Uint8Array.of(0xff, 0xd8), 'image/jpeg')).toEqual({
      body: null,
      file: { isText: false },
    });
    const packed = { status: 200, headers: [['Content-Encoding', 'br']] as const, lost: null };
    const body = Buffer.from('looks like text');
    const as = { contentType: 'text/plain', binary: false, scrubber: none };
    expect(shapeBody({ ...packed, body }, as).omitted?.reason).toBe('encoded');
    expect(shape(Uint8Array.of(0xff, 0xfd), 'text/plain').file).toEqual({ isText: true });
    const swapped = Buffer.from('\ufeffäb', 'utf16le').swap16();
    expect(shape(swapped, 'text/plain; charset=utf-16').body).toBe('äb');
    expect(shape(Buffer.from('\ufeff{"a":1}', 'utf16le'), 'application/json').body).toEqual({
      a: 1,
    });
  });

  test('says why it is missing', () => {
    expect(shape('', 'text/plain', 'too_large').omitted).toEqual({
      reason: 'too_large',
      content_type: 'text/plain',
      size: 9,
    });
  });

  test('has neither cookies nor hop-by-hop headers, and joins repeated ones', () => {
    const headers = [
      ['Set-Cookie', 'a=1'],
      ['Connection', 'close'],
      ['X-A', '1'],
      ['x-a', 'CANARY-x'],
    ] as const;

    expect(shapeHeaders(headers, createScrubber(['CANARY-x']))).toEqual({ 'x-a': '1, [REDACTED]' });
  });
});

describe('injection', () => {
  const injection = {
    kind: 'secret' as const,
    credentialId: '0',
    credentialName: 'token',
    in: 'header' as const,
    key: 'Authorization',
    prefix: 'Bearer ',
    encoding: 'raw' as const,
  };

  test('replaces the header whatever its casing', () => {
    const request = { url: 'https://a.example/', headers: [['authorization', 'mine']] as const };

    expect(inject(request, [{ injection, value: 'CANARY' }]).headers).toEqual([
      ['authorization', 'Bearer CANARY'],
    ]);
  });

  test('replaces the query parameter, however it was spelled', () => {
    const request = { url: 'https://a.example/x?api%5Fkey=mine&b=1&API_KEY=2', headers: [] };
    const inQuery = { ...injection, in: 'query' as const, key: 'api_key', prefix: '' };

    expect(inject(request, [{ injection: inQuery, value: 'CAN&ARY' }]).url).toBe(
      'https://a.example/x?b=1&api_key=CAN%26ARY',
    );
  });

  test('encodes a user and password', () => {
    const basic = { ...injection, prefix: 'Basic ', encoding: 'basic' as const };

    expect(
      inject({ url: 'https://a.example/', headers: [] }, [{ injection: basic, value: 'u:p' }])
        .headers,
    ).toEqual([['authorization', `Basic ${Buffer.from('u:p').toString('base64')}`]]);
  });

  test('never into a header of the transport', () => {
    const host = { ...injection, key: 'Host' };

    expect(() =>
      inject({ url: 'https://a.example/', headers: [] }, [{ injection: host, value: 'x' }]),
    ).toThrow('cannot carry a secret');
  });
});

describe('redirects', () => {
  const template = templateOf([
    actionOf({ key: 'get', path: '/users/{id}', params: [{ name: 'id', in: 'path' }] }),
    actionOf({ key: 'me', path: '/users/me' }),
  ]);
  const follow = (location: string | undefined, status = 302) =>
    redirectTarget({
      status,
      location,
      url: 'https://api.example.com/v1/users/7',
      template,
      actionKey: 'get',
      baseUrl: 'https://api.example.com/v1',
    });

  test('lead on within the operation', () => {
    expect(follow('/v1/users/8')).toBe('https://api.example.com/v1/users/8');
    expect(follow('8?x=1#y', 308)).toBe('https://api.example.com/v1/users/8?x=1');
  });

  test.for([
    'https://evil.example/v1/users/8',
    'http://api.example.com/v1/users/8',
    'https://api.example.com:8443/v1/users/8',
    'https://u@api.example.com/v1/users/8',
    '/v1/users/me',
    '/v1/admin',
    '/users/8',
    '/v1/users/8/keys',
    'gopher://api.example.com/',
    'https://',
  ])('not to %s', (location) => {
    expect(follow(location)).toBeUndefined();
  });

  test('only by a redirect status with a location', () => {
    expect(follow('/v1/users/8', 304)).toBeUndefined();
    expect(follow('/v1/users/8', 200)).toBeUndefined();
    expect(follow(undefined)).toBeUndefined();
  });

  test('not to another argument of its permission key', () => {
    const scopedBy = (scopeParam: string) => {
      const { get } = template.actions;
      return { ...template, actions: { ...template.actions, get: { ...get!, scopeParam } } };
    };
    const url = 'https://api.example.com/v1/users/7';
    const to = (location: string) =>
      redirectTarget({
        status: 302,
        location,
        url,
        actionKey: 'get',
        baseUrl: 'https://api.example.com/v1',
        template: scopedBy('id'),
      });

    expect(to('/v1/users/8')).toBeUndefined();
    expect(to('/v1/users/7?page=2')).toBe(`${url}?page=2`);
  });

  test('the operation is found by its fixed segments first', () => {
    const find = (method: string, path: string) =>
      findOperations(template, { method, path })[0]?.action.key;
    expect(find('GET', '/users/me')).toBe('me');
    expect(find('GET', '/users/7')).toBe('get');
    expect(find('POST', '/users/7')).toBeUndefined();
    expect(find('GET', '/users/')).toBeUndefined();
  });
});

describe('the next page', () => {
  const params = [
    paramOf({ name: 'owner', in: 'path' }),
    paramOf({ name: 'page', in: 'query', schema: { type: 'integer' } }),
    paramOf({ name: 'cursor', in: 'query' }),
    paramOf({ name: 'query_owner', wireName: 'owner', in: 'query' }),
    paramOf({
      name: 'ids',
      in: 'query',
      style: 'pipeDelimited',
      explode: false,
      schema: { type: 'array' },
    }),
  ];
  const options = { params, given: { owner: 'o', page: 1 }, url: 'https://api.example.com/r/o' };

  test('is the given params with those of the link', () => {
    const link =
      '<https://api.example.com/r/o?page=1>; rel="prev", </repositories/1?page=3&x=y>; title="a, b"; rel="next last"';

    expect(nextParams(link, options)).toEqual({ owner: 'o', page: 3 });
  });

  test('is in the names and lists of the action', () => {
    const link = '</r?owner=x&ids=a%7Cb>; rel=next';

    expect(nextParams(link, options)).toEqual({
      owner: 'o',
      page: 1,
      query_owner: 'x',
      ids: ['a', 'b'],
    });
  });

  test.for([
    undefined,
    '<https://evil.example/?page=3>; rel=next',
    '<https://api.example.com/?page=3>; rel=prev',
    '<https://api.example.com/?other=3>; rel=next',
    'nonsense',
  ])('is unknown for %s', (link) => {
    expect(nextParams(link, options)).toBeUndefined();
  });
});

describe('disclosed fields', () => {
  const entry = { label: 'Title', filter: '.x', maxChars: 5 };

  test('show strings bare, other values as JSON, null as nothing', () => {
    expect(disclosedField(entry, { ok: true, outputs: ['"ab"'] }).value).toBe('ab');
    expect(disclosedField(entry, { ok: true, outputs: ['{"a"', '1'] }).value).toBe('{"a"\n');
    expect(disclosedField(entry, { ok: true, outputs: ['null'] })).toEqual({
      label: 'Title',
      value: '',
      truncated: false,
    });
  });

  test.for([[['""']], [['""', 'null']]])(
    'say that an empty text is given: %j',
    ([outputs = []]) => {
      expect(disclosedField({ ...entry, maxChars: null }, { ok: true, outputs }).value).toBe(
        '(empty)',
      );
    },
  );

  test('are cut between characters as a reader sees them', () => {
    const family = '👩‍👩‍👧‍👦';

    expect(
      disclosedField(entry, { ok: true, outputs: [JSON.stringify(family.repeat(6))] }),
    ).toEqual({
      label: 'Title',
      value: family.repeat(5),
      truncated: true,
    });
    expect(clamp('é'.normalize('NFD').repeat(3), 2)).toBe('é'.normalize('NFD').repeat(2));
    expect(Buffer.byteLength(clamp('ü'.repeat(20_000), 10_240))).toBeLessThanOrEqual(10_240);
  });

  test('say that their filter failed', () => {
    expect(disclosedField(entry, { ok: false, message: 'no' })).toEqual({
      label: 'Title',
      value: '',
      truncated: false,
      error: 'no',
    });
  });
});
