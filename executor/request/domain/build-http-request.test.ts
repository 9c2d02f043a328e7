import { describe, expect, test } from 'vitest';

import type { HttpCall } from '#contracts/call';
import { buildHttpRequest, httpKeyOf } from './build-http-request.ts';

const callDigest = 'd'.repeat(64);
const baseCall: HttpCall = {
  kind: 'http',
  service: 'http',
  method: 'GET',
  target: 'https://api.example.com/v1',
  query: {},
  headers: {},
  body: null,
  secrets: [],
  filter: null,
};

function build(parts: Partial<HttpCall>, baseUrl: string | null = null) {
  return buildHttpRequest({ call: { ...baseCall, ...parts }, baseUrl, callDigest });
}

describe('in the URL of a call by method and path or full URL', () => {
  test.for<[target: string, url: string]>([
    ['https://api.example.com', 'https://api.example.com/'],
    ['HTTPS://API.Example.COM:443/a', 'https://api.example.com/a'],
    ['https://api.example.com./a', 'https://api.example.com/a'],
    ['https://api.example.com:8443/a', 'https://api.example.com:8443/a'],
    ['https://bücher.example/a', 'https://xn--bcher-kva.example/a'],
    ['https://api.example.com/%41%7e%c3%bc', 'https://api.example.com/A~%C3%BC'],
    ['https://api.example.com/ü|"', 'https://api.example.com/%C3%BC%7C%22'],
    ['https://api.example.com/*', 'https://api.example.com/%2A'],
    ['https://api.example.com/%2A%25', 'https://api.example.com/%2A%25'],
    ['https://api.example.com//a/', 'https://api.example.com//a/'],
    [
      "https://api.example.com/a?b='c'&d=%zz".replace('%zz', '%5b'),
      'https://api.example.com/a?b=%27c%27&d=%5B',
    ],
    ['https://api.example.com/a?', 'https://api.example.com/a'],
  ])('%j is sent as %j', ([target, url]) => {
    expect(build({ target }).url).toBe(url);
  });

  test.for([
    'ftp://api.example.com/',
    'file:///etc/passwd',
    'https:api.example.com',
    '//api.example.com/',
    'https://user:pw@api.example.com/',
    'https://api.example.com../',
    'https://api..example.com/',
    'https://api.example.com。。/',
    'https://api.example.com@evil.example/',
    'https://api.example.com\\@evil.example/',
    'https://api.example.com/a b',
    'https://api.example.com/a\tb',
    'https://api.example.com/\nb',
    'https://api.example.com/#x',
    'https://api.example.com/../x',
    'https://api.example.com/a/%2e%2e/b',
    'https://api.example.com/a/.%2E/b',
    'https://api.example.com/a/..;/b',
    'https://api.example.com/a%2Fb',
    'https://api.example.com/a%5cb',
    'https://api.example.com/a%00b',
    'https://api.example.com/a%zz',
    'https://api.example.com/a?_method=DELETE',
    'https://api.example.com/a?%5Fmethod=DELETE',
    'https://api.example.com/\ud800',
    'https://',
  ])('%j is refused', (target) => {
    expect(() => build({ target })).toThrow(expect.objectContaining({ code: 'invalid_params' }));
  });

  test('query parameters of the call are appended and encoded', () => {
    expect(build({ query: { q: 'a&b', tag: ['1', '2'] } }).url).toBe(
      'https://api.example.com/v1?q=a%26b&tag=1&tag=2',
    );
    expect(() => build({ query: { _method: 'DELETE' } })).toThrow('would change the method');
  });

  test('a path of a service cannot lead to another host', () => {
    const baseUrl = 'https://api.example.com/v1';

    expect(build({ target: '/a?b=1' }, baseUrl).url).toBe('https://api.example.com/v1/a?b=1');
    expect(build({ target: '//evil.example/a' }, baseUrl).url).toBe(
      'https://api.example.com/v1//evil.example/a',
    );
    for (const target of ['https://evil.example/', 'a', '@evil.example/', '/../admin']) {
      expect(() => build({ target }, baseUrl), target).toThrow();
    }
  });

  test('the path is byte for byte the one in the permission key', () => {
    expect(
      httpKeyOf(build({ method: 'DELETE', target: 'https://API.example.com:443/a%41*?q=1' })),
    ).toBe('http:DELETE:api.example.com/aA%2A');
  });
});

describe('in the headers and the body of a call by method and path or full URL', () => {
  test('names of headers are sent in lower case, and no name may occur twice', () => {
    const { headers } = build({ headers: { 'X-A': '1', Accept: 'text/html' } });

    expect(headers).toEqual([
      ['x-a', '1'],
      ['accept', 'text/html'],
    ]);
    expect(() => build({ headers: { 'X-A': '1', 'x-a': '2' } })).toThrow('given twice');
  });

  test.for([
    'Host',
    'Connection',
    'Content-Length',
    'X-HTTP-Method-Override',
    'X-Method-Override',
    'X-Amz-Copy-Source',
    'bad name',
    '',
  ])('the header name "%s" is refused', (name) => {
    expect(() => build({ headers: { [name]: 'x' } })).toThrow(
      expect.objectContaining({ code: 'invalid_params' }),
    );
  });

  test('an object becomes JSON unless the content type is a form; a text is sent unchanged', () => {
    const bodyTextOf = (parts: Partial<HttpCall>) =>
      Buffer.from(build(parts).body ?? []).toString();

    expect(bodyTextOf({ method: 'POST', body: { a: 1 } })).toBe('{"a":1}');
    expect(
      bodyTextOf({
        method: 'POST',
        body: { a: '1 2' },
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      }),
    ).toBe('a=1%202');
    expect(
      bodyTextOf({
        method: 'POST',
        body: '{"a":12345678901234567890}',
        headers: { 'content-type': 'application/json' },
      }),
    ).toBe('{"a":12345678901234567890}');
    expect(build({}).body).toBeNull();
  });

  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 255]);
  const base64 = png.toString('base64');

  test('bytes are given as base64 with a binary media type', () => {
    const { body, headers } = build({
      method: 'PUT',
      headers: { 'Content-Type': 'image/png' },
      body: { base64 },
    });
    expect(Buffer.from(body ?? []).equals(png)).toBe(true);
    expect(headers).toContainEqual(['content-type', 'image/png']);
    // In a JSON body, an object with `base64` does not count as bytes.
    const json = build({ method: 'POST', body: { base64 } });
    expect(Buffer.from(json.body ?? []).toString()).toBe(JSON.stringify({ base64 }));
  });

  test('a file of a multipart form is an object with base64', async () => {
    const { body, headers } = build({
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data' },
      body: {
        title: 'Logo',
        file: { base64, filename: 'a"b.png', content_type: 'image/png' },
        meta: { size: 1 },
      },
    });
    const type = headers.find(([name]) => name === 'content-type')?.[1] ?? '';
    const form = await new Response(Buffer.from(body ?? []), {
      headers: { 'content-type': type },
    }).formData();
    const file = form.get('file') as File;

    expect(form.get('title')).toBe('Logo');
    expect([file.name, file.type]).toEqual(['a"b.png', 'image/png']);
    expect(Buffer.from(await file.arrayBuffer()).equals(png)).toBe(true);
    expect(form.get('meta')).toBe('{"size":1}');
  });

  test.for<[string, HttpCall['body'], string]>([
    ['image/png', { base64: 'no base64!' }, 'body'],
    ['image/png', { base64, more: 1 }, 'body'],
    ['image/png', 7, 'body'],
    ['multipart/form-data', { file: { base64: 7 } }, 'file'],
    ['multipart/form-data', { file: { base64, filename: 7 } }, 'filename'],
    ['multipart/form-data', { file: { base64, content_type: 'a/b\r\nX: y' } }, 'content_type'],
  ])(
    'a value of media type %s that contains no valid file is refused: %j',
    ([type, body, param]) => {
      const issues = [expect.objectContaining({ path: param })];
      expect(() => build({ method: 'POST', headers: { 'content-type': type }, body })).toThrow(
        expect.objectContaining({ code: 'invalid_params', details: { issues } }),
      );
    },
  );
});
