import { describe, expect, test } from 'vitest';

import { toRequestView } from './request-view.ts';

const emptyRequest = {
  method: 'POST',
  params: null,
  headers: {},
  content_type: 'application/json',
  body: null,
  credentials: [],
};
const request = (url: string, body: unknown = null) =>
  toRequestView({ ...emptyRequest, url, body: body as null });

describe('the view of a request’s URL', () => {
  test.each([
    ['https://api.github.com/repos/acme/site', 'api.github.com', '/repos/acme/site'],
    ['https://api.example.com', 'api.example.com', '/'],
    ['https://bücher.example/x', 'xn--bcher-kva.example', '/x'],
    ['https://аpple.com/pay', 'xn--pple-43d.com', '/pay'],
    ['https://api.example.com:8443/v1', 'api.example.com:8443', '/v1'],
    ['https://api.example.com:443/v1', 'api.example.com', '/v1'],
    ['https://api.github.com@evil.example/x', 'evil.example', '/x'],
  ])('the URL %s is shown with the host %s and the path %s', (url, host, path) => {
    expect(request(url)).toMatchObject({ host, path });
  });

  test('a path is shown as it is sent, without normalization', () => {
    expect(request('https://a.example/x/%2e%2e/%E2%80%AE/[REDACTED]/y').path).toBe(
      '/x/%2e%2e/%E2%80%AE/[REDACTED]/y',
    );
  });

  test('a redacted or malformed address is shown whole, without a host', () => {
    expect(request('[REDACTED]')).toMatchObject({ host: null, path: '[REDACTED]', query: [] });
    expect(request('https://good.example\\@evil.example/')).toMatchObject({ host: null });
    expect(request('javascript:alert(1)')).toMatchObject({
      host: null,
      path: 'javascript:alert(1)',
    });
  });

  test('a query is split into its names and values', () => {
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
  ])('the view says whether the network can read a request to %s: %s', (url, isExposed) => {
    expect(request(url).isExposed).toBe(isExposed);
  });

  test('the path and query are shown exactly as they are sent', () => {
    expect(request('https://a.example/x%20y?q=a%2Bb&c').pathAndQuery).toBe('/x%20y?q=a%2Bb&c');
  });
});

describe('the view of a request’s headers and body', () => {
  test('a JSON body is indented', () => {
    expect(request('https://a.example/', { a: [1] }).body).toEqual({
      kind: 'json',
      text: '{\n  "a": [\n    1\n  ]\n}',
    });
  });

  test('a text body is shown unchanged', () => {
    expect(request('https://a.example/', 'a=b').body).toEqual({ kind: 'text', text: 'a=b' });
  });

  test.each([
    [false, 'false'],
    [0, '0'],
  ])('the JSON value %s is shown as a body', (body, text) => {
    expect(request('https://a.example/', body).body).toEqual({ kind: 'json', text });
  });

  test('headers and credentials are copied unchanged, without a credential’s value', () => {
    const credentials = [
      { kind: 'secret', name: 'token', in: 'header', key: 'Authorization' } as const,
    ];
    const view = toRequestView({
      ...emptyRequest,
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
      'names each hidden value',
      ['/body/user/password', '/headers/x-note-token'],
      '[REDACTED]',
      'Hidden: body › user › password, headers › x-note-token. Anywhere else [REDACTED] is what the agent wrote.',
    ],
    [
      'says that nothing is hidden when the agent wrote [REDACTED] itself',
      [],
      '[REDACTED]',
      'Nothing is hidden: [REDACTED] is what the agent wrote.',
    ],
    ['is missing when nothing is hidden', [], 'plain', null],
    [
      'is missing for a request that an earlier version stored without the list of hidden values',
      undefined,
      '[REDACTED]',
      null,
    ],
  ])('the note about hidden values %s', (_, redacted, note, hidden) => {
    const places = redacted === undefined ? {} : { redacted };
    const view = toRequestView({
      ...emptyRequest,
      url: 'https://a.example/',
      body: { note },
      ...places,
    });

    expect(view.hidden).toBe(hidden);
  });

  test('a long list of hidden values is truncated', () => {
    const redacted = Array.from({ length: 25 }, (_, at) => `/headers/x-${at}-token`);
    const { hidden } = toRequestView({ ...emptyRequest, url: 'https://a.example/', redacted });

    expect(hidden).toContain('headers › x-19-token and 5 more.');
  });

  test('a request that is too large is shown without its long values, which are listed', () => {
    const shortened = [{ at: '/body/file', bytes: 200_000, sha256: '0'.repeat(64) }];
    const view = toRequestView({
      ...emptyRequest,
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
