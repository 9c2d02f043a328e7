import { describe, expect, test } from 'vitest';

import { toRequestView } from './request-view.ts';

const bare = {
  method: 'POST',
  params: null,
  headers: {},
  content_type: 'application/json',
  body: null,
  credentials: [],
};
const request = (url: string, body: unknown = null) =>
  toRequestView({ ...bare, url, body: body as null });

describe('where a request goes', () => {
  test.each([
    ['https://api.github.com/repos/acme/site', 'api.github.com', '/repos/acme/site'],
    ['https://api.example.com', 'api.example.com', '/'],
    ['https://bücher.example/x', 'xn--bcher-kva.example', '/x'],
    ['https://аpple.com/pay', 'xn--pple-43d.com', '/pay'],
    ['https://api.example.com:8443/v1', 'api.example.com:8443', '/v1'],
    ['https://api.example.com:443/v1', 'api.example.com', '/v1'],
    ['https://api.github.com@evil.example/x', 'evil.example', '/x'],
  ])('%s goes to %s', (url, host, path) => {
    expect(request(url)).toMatchObject({ host, path });
  });

  test('a path is shown as it is sent, not tidied up', () => {
    expect(request('https://a.example/x/%2e%2e/%E2%80%AE/[REDACTED]/y').path).toBe(
      '/x/%2e%2e/%E2%80%AE/[REDACTED]/y',
    );
  });

  test('an address that is redacted or no address is shown whole, without a host', () => {
    expect(request('[REDACTED]')).toMatchObject({ host: null, path: '[REDACTED]', query: [] });
    expect(request('https://good.example\\@evil.example/')).toMatchObject({ host: null });
    expect(request('javascript:alert(1)')).toMatchObject({
      host: null,
      path: 'javascript:alert(1)',
    });
  });

  test('a query is read pair by pair', () => {
    expect(request('https://a.example/?q=is%3Aopen+bug&flag&x=a%3Db%26c&bad=%E0%A4').query).toEqual(
      [
        { name: 'q', value: 'is:open bug' },
        { name: 'flag', value: '' },
        { name: 'x', value: 'a=b&c' },
        { name: 'bad', value: '%E0%A4' },
      ],
    );
  });

  test.each([
    ['http://a.example/x', true],
    ['http://127.0.0.1.evil.example/x', true],
    ['https://a.example/x', false],
    ['http://127.0.0.1:9000/x', false],
    ['http://[::1]/x', false],
  ])('whether others can read %s on its way: %s', (url, isExposed) => {
    expect(request(url).isExposed).toBe(isExposed);
  });

  test('path and query together are what is sent', () => {
    expect(request('https://a.example/x%20y?q=a%2Bb&c').target).toBe('/x%20y?q=a%2Bb&c');
  });
});

describe('what a request carries', () => {
  test('JSON is indented', () => {
    expect(request('https://a.example/', { a: [1] }).body).toEqual({
      kind: 'json',
      text: '{\n  "a": [\n    1\n  ]\n}',
    });
  });

  test('text stays text', () => {
    expect(request('https://a.example/', 'a=b').body).toEqual({ kind: 'text', text: 'a=b' });
  });

  test.each([
    [false, 'false'],
    [0, '0'],
  ])('%s is a body', (body, text) => {
    expect(request('https://a.example/', body).body).toEqual({ kind: 'json', text });
  });

  test('headers and credentials are taken over as they are, without a value of a credential', () => {
    const credentials = [
      { kind: 'secret', name: 'token', in: 'header', key: 'Authorization' } as const,
    ];
    const view = toRequestView({
      ...bare,
      url: 'https://a.example/',
      headers: { 'x-amz-target': 'DynamoDB.DeleteTable', sudo: 'root' },
      content_type: 'application/x-www-form-urlencoded',
      credentials,
    });

    expect(view).toMatchObject({
      headers: [
        { name: 'x-amz-target', value: 'DynamoDB.DeleteTable' },
        { name: 'sudo', value: 'root' },
      ],
      contentType: 'application/x-www-form-urlencoded',
      credentials,
    });
  });

  test.each<[what: string, redacted: string[] | undefined, note: string, hidden: string | null]>([
    [
      'names what is hidden',
      ['/body/user/password', '/headers/x-note-token'],
      '[REDACTED]',
      'Hidden: body › user › password, headers › x-note-token. Anywhere else [REDACTED] is what the agent wrote.',
    ],
    [
      'says when only the agent made it look hidden',
      [],
      '[REDACTED]',
      'Nothing is hidden: [REDACTED] is what the agent wrote.',
    ],
    ['says nothing where nothing is hidden', [], 'plain', null],
    ['of an earlier version does not know', undefined, '[REDACTED]', null],
  ])('one %s', (_, redacted, note, hidden) => {
    const places = redacted === undefined ? {} : { redacted };
    const view = toRequestView({ ...bare, url: 'https://a.example/', body: { note }, ...places });

    expect(view.hidden).toBe(hidden);
  });

  test('a long list of what is hidden is cut', () => {
    const redacted = Array.from({ length: 25 }, (_, at) => `/headers/x-${at}-token`);
    const { hidden } = toRequestView({ ...bare, url: 'https://a.example/', redacted });

    expect(hidden).toContain('headers › x-19-token and 5 more.');
  });

  test('one that is too large shows its outline, and what is missing in it', () => {
    const shortened = [{ at: '/body/file', bytes: 200_000, sha256: '0'.repeat(64) }];
    const view = toRequestView({
      ...bare,
      too_large: true,
      body: { file: 'AAAA…', title: 'Whole' },
      shortened,
      method: 'PUT',
      url: 'https://a.example/file',
    });

    expect(view).toMatchObject({ isTooLarge: true, shortened, host: 'a.example' });
    expect(view.body.text).toContain('"title": "Whole"');
  });
});
