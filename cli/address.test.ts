import { expect, test } from 'vitest';

import { adviseOnAddress, coversEndpoint, parseGatewayUrl, parseSafeUrl } from './address.ts';

test.each([
  [undefined, 'http://127.0.0.1:8080'],
  ['https://gateway.example', 'https://gateway.example'],
  ['https://gateway.example/', 'https://gateway.example'],
  ['https://gateway.example/mcp', 'https://gateway.example'],
  ['https://gateway.example/mcp/', 'https://gateway.example'],
  ['https://gateway.example/a/mcp', 'https://gateway.example/a'],
])('given the address %s, the shim uses the gateway at %s', (address, url) => {
  expect(parseGatewayUrl(address)).toBe(url);
});

test.each(['https://a.example', 'http://localhost:1', 'http://127.8.9.1', 'http://[::1]:81'])(
  'a credential may go to %s',
  (url) => {
    expect(parseSafeUrl(url).href).toContain(url);
  },
);

test.each([
  'http://a.example',
  'http://127.0.0.1.a.example',
  'http://localhost.a.example',
  'http://10.0.0.1',
  'http://[::2]',
  'ftp://127.0.0.1',
  'file:///etc/passwd',
  'javascript:alert(1)',
  '',
  'a.example',
])('a credential may not go to %j', (url) => {
  expect(() => parseSafeUrl(url)).toThrow(/is refused|is not a URL/);
});

test.each(['https://me:CANARY-word@a.example', 'http://me:CANARY-word@a.example'])(
  'the address %s is refused, and its password is not shown',
  (address) => {
    expect(() => parseGatewayUrl(address)).toThrow(/^(?!.*CANARY).*a\.example/);
  },
);

test('for the address ::1, the advice names the address at which a gateway listens by default', () => {
  expect(adviseOnAddress('http://[::1]:8080')).toContain('use http://127.0.0.1:8080,');
  expect(adviseOnAddress('http://127.0.0.1:8080')).not.toContain('HOST');
});

test.each([
  ['https://a.example', true],
  ['https://a.example/', true],
  ['https://a.example/mcp', true],
  ['https://a.example/mcp/', true],
  ['https://a.example/mc', false],
  ['https://a.example/mcp/other', false],
  ['https://a.example/mcp#x', false],
  ['https://b.example/mcp', false],
  ['http://a.example/mcp', false],
  ['https://a.example:8443/mcp', false],
  ['nonsense', false],
])(
  'coversEndpoint, for the resource %s and the endpoint https://a.example/mcp, returns %s',
  (resource, expected) => {
    expect(coversEndpoint(resource, new URL('https://a.example/mcp'))).toBe(expected);
  },
);
