import { describe, expect, test } from 'vitest';

import {
  describeSite,
  isForeignOrigin,
  isOwnHost,
  isOwnOrigin,
  readCookie,
  buildSessionCookie,
} from './site.ts';
import type { Site } from './site.ts';

const localSite = createSite('http://127.0.0.1:8080', 8080);
const httpsSite = createSite('https://gateway.example.com', 8080);

describe('the base URL', () => {
  test.for(['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:80', 'https://g.example'])(
    'may be %s',
    (baseUrl) => {
      expect(describeSite(baseUrl, 8080)).toHaveProperty('cookieName');
    },
  );

  test.for([
    'http://gateway.example.com',
    'http://10.0.0.5:8080',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
  ])('may not be %s, because a session could be intercepted', (baseUrl) => {
    expect(describeSite(baseUrl, 8080)).toEqual({ problem: expect.stringContaining('https') });
  });

  test.for(['https://g.example/gateway', 'https://ann@g.example', 'https://g.example/?a=1'])(
    'may not be %s, because it contains more than a scheme, a host and a port',
    (baseUrl) => {
      expect(describeSite(baseUrl, 8080)).toHaveProperty('problem');
    },
  );
});

describe('the Host header', () => {
  test.for<[site: Site, host: string | undefined, own: boolean]>([
    [localSite, '127.0.0.1:8080', true],
    [localSite, 'localhost:8080', true],
    [localSite, 'LOCALHOST:8080', true],
    [localSite, '[::1]:8080', true],
    [localSite, '127.0.0.1', false],
    [localSite, '127.0.0.1:8081', false],
    [localSite, 'evil.example:8080', false],
    [localSite, undefined, false],
    [httpsSite, 'gateway.example.com', true],
    [httpsSite, 'gateway.example.com:443', true],
    [httpsSite, 'localhost:8080', true],
    [httpsSite, 'gateway.example.com:8443', false],
    [httpsSite, 'gateway.example.com.evil.example', false],
    [httpsSite, 'evil.example', false],
    [createSite('http://localhost:9090', 8080), '127.0.0.1:9090', true],
    [createSite('http://localhost:9090', 8080), '127.0.0.1:8080', true],
    [createSite('http://localhost:9090', 8080), '127.0.0.1:9091', false],
  ])('for the gateway $baseUrl, the host $1 is its own: $2', ([where, host, own]) => {
    expect(isOwnHost(where, host)).toBe(own);
  });
});

describe('a request', () => {
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
  ])(
    'with the headers %j comes from the gateway’s own site: %s, from another site: %s',
    ([headers, own, foreign]) => {
      expect(isOwnOrigin(localSite, headers)).toBe(own);
      expect(isForeignOrigin(localSite, headers)).toBe(foreign);
    },
  );
});

describe('the session cookie', () => {
  test('has the __Host- prefix under https, and a plain name on loopback', () => {
    expect(buildSessionCookie(httpsSite, 'abc', 60)).toBe(
      '__Host-gateway_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure',
    );
    expect(buildSessionCookie(localSite, 'abc', 60)).toBe(
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
  ])('in the Cookie header %j has the value %j', ([header, value]) => {
    expect(readCookie(header, 'gateway_session')).toBe(value);
  });
});

function createSite(baseUrl: string, port: number): Site {
  const siteOrProblem = describeSite(baseUrl, port);
  if ('problem' in siteOrProblem) throw new Error(siteOrProblem.problem);
  return siteOrProblem;
}
