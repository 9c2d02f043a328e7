import { describe, expect, test } from 'vitest';

import type { HttpCall } from '#contracts/call';
import { checkHttpParts, parseHttpTarget } from './http-target.ts';

const plainCall: HttpCall = {
  kind: 'http',
  service: 'http',
  method: 'POST',
  target: 'https://api.example.com/',
  query: {},
  headers: {},
  body: null,
  secrets: [],
  filter: null,
};
const expectedRefusal = expect.objectContaining({ code: 'invalid_params' });

describe('the host and path of a call to a full URL (parseHttpTarget)', () => {
  test.for<[name: string, url: string, host: string, path: string]>([
    ['are those of the URL', 'https://api.example.com/v1/users', 'api.example.com', '/v1/users'],
    ['have the path / when the URL has no path', 'https://api.example.com', 'api.example.com', '/'],
    ['have the host in lower case', 'https://API.Example.COM/A', 'api.example.com', '/A'],
    ['are found with the scheme in any letter case', 'HTTPS://a.example/x', 'a.example', '/x'],
    [
      'have an international host name as A-label',
      'https://bücher.example/x',
      'xn--bcher-kva.example',
      '/x',
    ],
    ['have the host without its trailing dot', 'https://a.example./x', 'a.example', '/x'],
    [
      "have the host without the scheme's default port",
      'https://a.example:443/x',
      'a.example',
      '/x',
    ],
    ['have the host with any other port', 'https://a.example:8443/x', 'a.example:8443', '/x'],
    ['have the host without port 80 for http', 'http://a.example:80/x', 'a.example', '/x'],
    ['have the host with port 443 for http', 'http://a.example:443/x', 'a.example:443', '/x'],
    [
      'have octal and hexadecimal IP addresses in decimal form',
      'https://0x7f.1/x',
      '127.0.0.1',
      '/x',
    ],
    ['have fullwidth digits as ASCII digits', 'https://１２７.0.0.1/x', '127.0.0.1', '/x'],
    ['have an IPv6 address in brackets', 'https://[::1]:8443/x', '[::1]:8443', '/x'],
    ['have no query', 'https://a.example/x?y=z#'.slice(0, -1), 'a.example', '/x'],
  ])('%s: %s', ([, url, host, path]) => {
    expect(parseHttpTarget(url, null)).toEqual({ host, path });
  });

  test.for<[name: string, url: string]>([
    ['no scheme', 'api.example.com/x'],
    ['another scheme', 'ftp://a.example/x'],
    ['user and password', 'https://user:pw@a.example/x'],
    ['an @ without a user name', 'https://@a.example/x'],
    ['no host', 'https:///x'],
    ['a host with two dots at its end', 'https://a.example../x'],
    ['a host with an empty label', 'https://a..example/x'],
    ['a host that begins with a dot', 'https://.a.example/x'],
    ['full stops of another script at the end of its host', 'https://a.example。。/x'],
    ['a fragment', 'https://a.example/x#y'],
    ['a backslash, which some parsers read as a slash', 'https://a.example\\@evil.example/'],
    ['a tab, which some parsers drop', 'https://a.exa\tmple/'],
    ['a newline', 'https://a.example/x\n'],
    ['a space', 'https://a.example/x y'],
    ['a lone surrogate', 'https://a.example/\ud800'],
    ['an encoded slash', 'https://a.example/a%2Fb'],
    ['an encoded slash in lower case', 'https://a.example/a%2fb'],
    ['an encoded backslash', 'https://a.example/a%5Cb'],
    ['an encoded newline', 'https://a.example/a%0Ab'],
    ['an encoded NUL', 'https://a.example/a%00'],
    ['a dot segment', 'https://a.example/a/../b'],
    ['a single dot', 'https://a.example/a/./b'],
    ['a dot segment at the end', 'https://a.example/a/..'],
    ['an encoded dot segment', 'https://a.example/a/%2e%2E/b'],
    ['a half-encoded dot segment', 'https://a.example/a/.%2e/b'],
    ['a dot segment behind a path parameter', 'https://a.example/a/..;x=1/b'],
    ['a percent sign that encodes nothing', 'https://a.example/100%'],
    ['a method override in the query', 'https://a.example/x?a=1&_method=DELETE'],
    ['an encoded method override', 'https://a.example/x?%5Fmethod=DELETE'],
    ['a method override behind a semicolon', 'https://a.example/x?a=1;_method=DELETE'],
    ['a method override as PHP reads it', 'https://a.example/x?.method=DELETE'],
  ])('are not read from a URL with %s: %s', ([, url]) => {
    expect(() => parseHttpTarget(url, null)).toThrow(expectedRefusal);
  });
});

describe('the target of a call by method and path (parseHttpTarget below a base URL)', () => {
  const baseUrl = 'https://api.example.com/v3';

  test('has the path of the base URL at its beginning', () => {
    expect(parseHttpTarget('/users?x=1', baseUrl)).toEqual({
      host: 'api.example.com',
      path: '/v3/users',
    });
  });

  test.for(['//evil.example/x', '/@evil.example/', '/https://evil.example/'])(
    '%s stays on the host of the service',
    (target) => {
      expect(parseHttpTarget(target, baseUrl).host).toBe('api.example.com');
    },
  );

  test.for(['users', 'https://evil.example/', '@evil.example/', '.evil.example/', '', '/../v1'])(
    '%j is refused',
    (target) => {
      expect(() => parseHttpTarget(target, baseUrl)).toThrow(expectedRefusal);
    },
  );
});

const partsWithType = (type: string, body: HttpCall['body']): Partial<HttpCall> => ({
  headers: { 'Content-Type': type },
  body,
});
const base64BodyOf = (text: string) => ({ base64: Buffer.from(text).toString('base64') });
const formPartsOf = (body: HttpCall['body']) =>
  partsWithType('application/x-www-form-urlencoded', body);
const multipartPartsOf = (disposition: string) =>
  partsWithType(
    'multipart/form-data; boundary=b',
    `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\nDELETE\r\n--b--`,
  );

describe('the check of a call by HTTP method (checkHttpParts)', () => {
  test.for<[name: string, part: Partial<HttpCall>]>([
    ['a nested member', { body: { a: { _method: 'x' } } }],
    ['a value', { body: { method: '_method', a: '_method=DELETE' } }],
    ['a text', partsWithType('text/markdown', 'call it with _method=DELETE')],
    ['a part of a text', multipartPartsOf('name="a_method"')],
    ['a parameter of another name', formPartsOf('my_method=1&_methods=2')],
    ['a nested method field', { body: { httpMethod: 'GET', http_method: 'GET' } }],
    ['a picture with bytes', partsWithType('image/png', base64BodyOf('{"_method":"DELETE"}'))],
    ['a part of a text, in single quotes', multipartPartsOf("name='a_method'")],
    ['a file in a text', multipartPartsOf('name="a"; filename="_method"')],
    ['a file with an encoded name', multipartPartsOf("name=a; filename*=utf-8''%C3%A4")],
    ['a content about names', multipartPartsOf('name="a"\r\n\r\nchar *name*=0; name*0=1')],
    ['a text of zeros', partsWithType('text/plain', 'a\0b')],
    ['UTF-8 that says so', partsWithType('application/json; charset="UTF-8"', '{"a":1}')],
    [
      'bytes of a document',
      partsWithType(
        'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
        base64BodyOf('PK\0\0'),
      ),
    ],
    ['a header about the caller', { headers: { 'X-Method-Name': 'a', 'X-Path': 'b' } }],
  ])('accepts %s that resembles a method override', ([, part]) => {
    expect(() => checkHttpParts({ ...plainCall, ...part })).not.toThrow();
  });

  test('accepts an ordinary call', () => {
    const call: HttpCall = {
      ...plainCall,
      headers: { Accept: 'application/json', 'X-Trace': 'é', 'x-ms-source-if-match': '*' },
      query: { method: 'x' },
      secrets: [{ name: 'token', in: 'header', key: 'X-Api-Key', prefix: 'Bearer ' }],
    };

    expect(() => checkHttpParts(call)).not.toThrow();
  });

  test.for<[name: string, part: Partial<HttpCall>]>([
    ['X-HTTP-Method-Override', { headers: { 'X-HTTP-Method-Override': 'DELETE' } }],
    ['x-http-method', { headers: { 'x-http-method': 'DELETE' } }],
    ['X-Method-Override', { headers: { 'X-Method-Override': 'DELETE' } }],
    ...['Http-Method-Override', 'HTTP_METHOD', 'Method-Override'].map(
      (name): [string, Partial<HttpCall>] => [name, { headers: { [name]: 'DELETE' } }],
    ),
    ['an override spelled for CGI', { headers: { X_HTTP_METHOD_OVERRIDE: 'DELETE' } }],
    ['_method in the query', { query: { _method: 'DELETE' } }],
    ['_Method in any case', { query: { _Method: 'DELETE' } }],
    ['_method[] as a list', { query: { '_method[]': 'DELETE' } }],
    ['a secret as an override', { secrets: [{ name: 's', in: 'header', key: 'X-HTTP-Method' }] }],
    ['a secret as _method', { secrets: [{ name: 's', in: 'query', key: '_method' }] }],
    [
      '_method in a form',
      {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'a=1&_method=DELETE',
      },
    ],
    ['_method behind a semicolon in a form', formPartsOf('a=1;_method=DELETE')],
    ['_method after blanks in a form', formPartsOf('a=1&++%5Fmethod=DELETE')],
    ['_method as a list in a form', formPartsOf('_method%5B%5D=DELETE')],
    ['_method in a form of members', formPartsOf({ _method: 'DELETE' })],
    ['_method in JSON', { body: { _method: 'DELETE', a: 1 } }],
    ['_METHOD in JSON', { body: { _METHOD: 'DELETE' } }],
    ['_method in a text of JSON', partsWithType('application/json', '{"a":1,"_method":"DELETE"}')],
    [
      '_method in JSON, escaped',
      partsWithType('application/vnd.a+json', '{"\\u005fmethod":"DELETE"}'),
    ],
    ['_method in a text of no type', { body: '{"_method":"DELETE"}' }],
    [
      '_method in a multipart form of members',
      partsWithType('multipart/form-data', { _method: 'PUT' }),
    ],
    ['_method in a multipart text', multipartPartsOf('name="_method"')],
    ['_method in a multipart text, in single quotes', multipartPartsOf("name='_method'")],
    ['a method header in single quotes', multipartPartsOf("name='x_http_method_override'")],
    ['_method in open single quotes', multipartPartsOf("name= ' _method")],
    ['_method inside a value in single quotes', multipartPartsOf("name='a; name=_method; b='")],
    ['an encoded word in single quotes', multipartPartsOf("name='=?utf-8?B?X21ldGhvZA==?='")],
    ['_method in a multipart text, without quotes', multipartPartsOf('name=_method')],
    ['_method in a multipart text, encoded', multipartPartsOf("name*=UTF-8''%5Fmethod")],
    ['_method in a multipart text, in two parts', multipartPartsOf('name*0="_met"; name*1="hod"')],
    ['_method in a multipart text, on a folded line', multipartPartsOf('\r\n name*0*="_met"')],
    ['_method as an encoded word', multipartPartsOf('name="=?utf-8?B?X21ldGhvZA==?="')],
    [
      '_method as an encoded word of a form of members',
      partsWithType('multipart/form-data', { '=?utf-8?B?X21ldGhvZA==?=': 'DELETE' }),
    ],
    ...[
      'application/x-www-form-urlencoded;charset=utf-16le',
      'application/x-www-form-urlencoded; charset = "UTF-16"',
      'application/x-www-form-urlencoded; charset=utf-8; charset=utf-16le',
      "application/x-www-form-urlencoded; charset*=us-ascii''utf-16le",
      'application/x-www-form-urlencoded; charset=cp037',
      'application/json; charset=utf-16le',
      'multipart/form-data; boundary=b; charset=utf-7',
    ].map((type): [string, Partial<HttpCall>] => [
      `text in another charset, ${type}`,
      partsWithType(type, '_method=DELETE'.replaceAll(/./g, '$&\0')),
    ]),
    ...["*=utf-8''utf-7", "*0*=utf-8''utf-7", ' *0=utf-8', "*=''utf-8"].map(
      (charset): [string, Partial<HttpCall>] => [
        `a charset as of RFC 2231, charset${charset}`,
        partsWithType(`application/x-www-form-urlencoded; charset${charset}`, '+AF8-method=DELETE'),
      ],
    ),
    ['members in another charset', partsWithType('multipart/form-data; charset=utf-7', { a: 'x' })],
    ['UTF-16 that does not say so', partsWithType('application/json', '{\0"\0_\0m\0')],
    [
      'bytes in UTF-16 that do not say so',
      partsWithType('application/x-json', base64BodyOf('{\0"\0_\0m\0')),
    ],
    ['_method in a multipart text, with blanks', multipartPartsOf('NAME = " _method"')],
    ['_method behind many blanks', multipartPartsOf(`name="${' '.repeat(200)}_method"`)],
    ['_method in a multipart text, a quoted pair', multipartPartsOf('name="\\_m\\ethod"')],
    [
      '_method in JSON behind a BOM',
      partsWithType('application/json', '\uFEFF{"_method":"DELETE"}'),
    ],
    ...['application/x-json', 'text/x-json', 'application/jsonx', 'x/foo+json', 'text/html'].map(
      (type): [string, Partial<HttpCall>] => [
        `_method in JSON that is called ${type}`,
        partsWithType(type, '{"_method":"DELETE"}'),
      ],
    ),
    [
      '_method in bytes of JSON',
      partsWithType('application/x-json', base64BodyOf('{"_method":"DELETE"}')),
    ],
    [
      '_method in bytes of parts',
      partsWithType(
        'multipart/mixed; boundary=b',
        base64BodyOf('--b\r\nContent-Disposition: a; name=_method'),
      ),
    ],
    ...[
      '_HttpMethod',
      '_http_method',
      '$httpMethod',
      'X-HTTP-Method-Override',
      'x_http_method',
    ].map((name): [string, Partial<HttpCall>] => [
      `${name} in the query`,
      { query: { [name]: 'PUT' } },
    ]),
    ...[
      'X-Original-URL',
      'X-Rewrite-URL',
      'X-Original-Host',
      'X-Original-URI',
      'X-Host',
      'X-HTTP-Host-Override',
      'X-Override-URL',
      'X-Envoy-Original-Path',
      'X-Original-Method',
      'X_Original_URL',
      'X.Rewrite.URL',
      'X_Forwarded_Host',
      'X-Forwarded-Host',
      'SCRIPT_NAME',
      'Host',
      'transfer_encoding',
      'content_length',
      'Transfer-Encoding',
      'Connection',
      'x_real_ip',
      'Proxy_Authorization',
      'Forwarded',
      'TE',
      'x-amz-copy-source',
      'X_Amz_Copy_Source',
      'x-amz-copy-source-if-match',
      'x-ms-file-rename-source',
      'X-Copy-From-Account',
      'X-Symlink-Target',
      'Destination',
    ].flatMap((key): [string, Partial<HttpCall>][] => [
      [`the header ${key}`, { headers: { [key]: 'x' } }],
      [`a secret as ${key}`, { secrets: [{ name: 's', in: 'header', key }] }],
    ]),
    ['a header that acts for another account', { headers: { 'Stripe-Account': 'acct_1' } }],
    [
      'a secret as a header that acts for another person',
      { secrets: [{ name: 'a', in: 'header', key: 'Impersonate-User' }] },
    ],
    ['a header with a newline', { headers: { 'X-A': 'a\r\nX-B: c' } }],
    ['a header name with a colon', { headers: { 'X-A:': 'a' } }],
    ['a secret with an empty header name', { secrets: [{ name: 's', in: 'header', key: 'a b' }] }],
    [
      'a prefix with a newline',
      { secrets: [{ name: 's', in: 'header', key: 'a', prefix: 'x\n' }] },
    ],
  ])('refuses a call with %s', ([, part]) => {
    expect(() => checkHttpParts({ ...plainCall, ...part })).toThrow(expectedRefusal);
  });
});
