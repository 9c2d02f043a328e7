import { describe, expect, test } from 'vitest';

import {
  describeSite,
  isForeignOrigin,
  isOwnHost,
  isOwnOrigin,
  readCookie,
  sessionCookie,
} from './site.ts';
import type { Site } from './site.ts';

const local = site('http://127.0.0.1:8080', 8080);
const published = site('https://gateway.example.com', 8080);

describe('the base URL', () => {
  test.for(['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:80', 'https://g.example'])(
    '%s is accepted',
    (baseUrl) => {
      expect(describeSite(baseUrl, 8080)).toHaveProperty('cookieName');
    },
  );

  test.for([
    'http://gateway.example.com',
    'http://10.0.0.5:8080',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
  ])('%s is refused: a session could be read on the way', (baseUrl) => {
    expect(describeSite(baseUrl, 8080)).toEqual({ problem: expect.stringContaining('https') });
  });

  test.for(['https://g.example/gateway', 'https://ann@g.example', 'https://g.example/?a=1'])(
    '%s is refused: only scheme, host and port',
    (baseUrl) => {
      expect(describeSite(baseUrl, 8080)).toHaveProperty('problem');
    },
  );
});

describe('Host', () => {
  test.for<[site: Site, host: string | undefined, own: boolean]>([
    [local, '127.0.0.1:8080', true],
    [local, 'localhost:8080', true],
    [local, 'LOCALHOST:8080', true],
    [local, '[::1]:8080', true],
    [local, '127.0.0.1', false],
    [local, '127.0.0.1:8081', false],
    [local, 'evil.example:8080', false],
    [local, undefined, false],
    [published, 'gateway.example.com', true],
    [published, 'gateway.example.com:443', true],
    [published, 'localhost:8080', true],
    [published, 'gateway.example.com:8443', false],
    [published, 'gateway.example.com.evil.example', false],
    [published, 'evil.example', false],
    [site('http://localhost:9090', 8080), '127.0.0.1:9090', true],
    [site('http://localhost:9090', 8080), '127.0.0.1:8080', true],
    [site('http://localhost:9090', 8080), '127.0.0.1:9091', false],
  ])('of %o: is %s ours?', ([where, host, own]) => {
    expect(isOwnHost(where, host)).toBe(own);
  });
});

describe('Origin', () => {
  test.for<[headers: Parameters<typeof isOwnOrigin>[1], own: boolean, foreign: boolean]>([
    [{ origin: 'http://127.0.0.1:8080' }, true, false],
    [{ 'sec-fetch-site': 'same-origin' }, true, false],
    [{ origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' }, true, false],
    [{}, false, false],
    [{ origin: 'null' }, false, true],
    [{ origin: 'http://127.0.0.1:8081' }, false, true],
    [{ origin: 'https://127.0.0.1:8080' }, false, true],
    [{ 'sec-fetch-site': 'cross-site' }, false, true],
    [{ 'sec-fetch-site': 'none' }, false, true],
    [{ origin: 'http://127.0.0.1:8080.evil.example' }, false, true],
  ])('%o', ([headers, own, foreign]) => {
    expect(isOwnOrigin(local, headers)).toBe(own);
    expect(isForeignOrigin(local, headers)).toBe(foreign);
  });
});

describe('the session cookie', () => {
  test('is bound to the host on https and plain on loopback', () => {
    expect(sessionCookie(published, 'abc', 60)).toBe(
      '__Host-gateway_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure',
    );
    expect(sessionCookie(local, 'abc', 60)).toBe(
      'gateway_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax',
    );
  });

  test.for<[header: string | undefined, value: string | undefined]>([
    ['gateway_session=abc', 'abc'],
    ['a=1; gateway_session=abc=; b=2', 'abc='],
    ['xgateway_session=abc', undefined],
    ['gateway_session', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('is found in %s', ([header, value]) => {
    expect(readCookie(header, 'gateway_session')).toBe(value);
  });
});

function site(baseUrl: string, port: number): Site {
  const described = describeSite(baseUrl, port);
  if ('problem' in described) throw new Error(described.problem);
  return described;
}
