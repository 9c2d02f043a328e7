import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { hostOf } from './hosts.ts';
import { resolveServer } from './resolve-server.ts';
import type { ServerChoice } from './resolve-server.ts';
import type { Server } from './server.ts';

const site = { name: 'site', description: 'your site', default: null, enum: null };
const jira: Server = {
  url: 'https://{site}.atlassian.net',
  variables: [site],
  baseUrlAllowed: false,
};
const fixed: Server = { url: 'https://api.example.com/v1', variables: [], baseUrlAllowed: true };

function resolved(server: Server, choice: Partial<ServerChoice>) {
  return resolveServer(server, { variables: {}, ...choice });
}

describe('the base URL of a service (resolveServer)', () => {
  test('is the server of the template when that has no variables', () => {
    expect(resolved(fixed, {})).toEqual({
      baseUrl: 'https://api.example.com/v1',
      host: 'api.example.com',
    });
  });

  test.for<[url: string, host: string]>([
    ['https://[2606:4700::1111]/v1', '[2606:4700::1111]'],
    ['https://1.1.1.1:8443', '1.1.1.1:8443'],
  ])('may have the address %s', ([url, host]) => {
    expect(resolved({ ...fixed, url }, {})).toEqual({ baseUrl: url, host });
  });

  test('contains the value of a variable, and the host in lower case', () => {
    expect(resolved(jira, { variables: { site: 'Acme' } })).toEqual({
      baseUrl: 'https://acme.atlassian.net',
      host: 'acme.atlassian.net',
    });
  });

  test('contains the default of a variable that has no value', () => {
    const withDefault = { ...jira, variables: [{ ...site, default: 'acme' }] };

    expect(resolved(withDefault, {}).host).toBe('acme.atlassian.net');
  });

  test.for<[value: string]>([
    ['evil.com/'],
    ['evil.com#'],
    ['evil.com?'],
    ['evil.com\\'],
    ['a.b'],
    ['user@evil'],
    ['evil:443'],
    [''],
    [' '],
    ['a b'],
    ['%65vil'],
    ['{site}'],
    ['-acme'],
    ['acme-'],
    ['a\nb'],
    ['ａcme'],
    ['ac．me'],
    ['acmé'],
    ['a'.repeat(64)],
  ])('may not contain the variable value %j', ([value]) => {
    expect(() => resolved(jira, { variables: { site: value } })).toThrow(AppError);
  });

  test('does not exist when variables are missing or unknown; the error names these variables', () => {
    expect(() => resolved(jira, {})).toThrow(/"site"/);
    expect(() => resolved(jira, { variables: { site: 'acme', zone: 'eu' } })).toThrow(/"zone"/);
  });

  test('does not contain inherited properties of the object with the variables', () => {
    const server = {
      ...jira,
      url: 'https://{toString}.example.com',
      variables: [{ ...site, name: 'toString' }],
    };

    expect(() => resolved(server, {})).toThrow(/"toString"/);
  });

  test('may not contain a value outside the enum of the variable', () => {
    const limited = { ...jira, variables: [{ ...site, enum: ['eu', 'us'] }] };

    expect(resolved(limited, { variables: { site: 'eu' } }).host).toBe('eu.atlassian.net');
    expect(() => resolved(limited, { variables: { site: 'asia' } })).toThrow(/eu, us/);
  });

  test.for<[given: string, baseUrl: string, host: string]>([
    ['https://git.example.com/api/v4', 'https://git.example.com/api/v4', 'git.example.com'],
    ['https://GIT.Example.com./api/v4/', 'https://git.example.com/api/v4', 'git.example.com'],
    ['https://git.example.com:443', 'https://git.example.com', 'git.example.com'],
    ['https://git.example.com:8443', 'https://git.example.com:8443', 'git.example.com:8443'],
    ['https://bücher.example', 'https://xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ])('may be given as %s', ([given, baseUrl, host]) => {
    expect(resolved(fixed, { baseUrl: given })).toEqual({ baseUrl, host });
  });

  test.for<[given: string]>([
    ['http://git.example.com'],
    ['ftp://git.example.com'],
    ['git.example.com'],
    ['https://'],
    ['https://user:pass@git.example.com'],
    ['https://user@git.example.com'],
    ['https://@git.example.com'],
    ['https://git.example.com../'],
    ['https://git..example.com'],
    ['https://git.example.com/?a=b'],
    ['https://git.example.com/#a'],
    ['https://git.example.com/a/../b'],
    ['https://git.example.com/a/..;/b'],
    ['https://git.example.com/a/.;x=1'],
    ['https://git.example.com/./a'],
    ['https://git.example.com//a'],
    ['https://git.example.com/%2e%2e/a'],
    ['https://git.example.com\\@evil.com'],
    ['https://git.example.com /a'],
    ['https:git.example.com'],
    ['javascript:alert(1)'],
  ])('may not be given as %s', ([given]) => {
    expect(() => resolved(fixed, { baseUrl: given })).toThrow(AppError);
  });

  test('may have the scheme http only for a host that the operator allows', () => {
    const isPlainHttpAllowed = (host: string) => host === '127.0.0.1:4010';

    expect(resolved(fixed, { baseUrl: 'http://127.0.0.1:4010', isPlainHttpAllowed }).host).toBe(
      '127.0.0.1:4010',
    );
    expect(() => resolved(fixed, { baseUrl: 'http://127.0.0.1:4011', isPlainHttpAllowed })).toThrow(
      AppError,
    );
  });
});

describe('a variable that is a segment of the path', () => {
  const tenant: Server = {
    url: 'https://api.example.com/ex/{tenant}/v1',
    variables: [{ ...site, name: 'tenant' }],
    baseUrlAllowed: false,
  };

  test.for<[value: string]>([
    ['11223344-a1b2-3b33-c444-def123456789'],
    ['Acme'],
    ['_acme~x'],
    ['a..b'],
    ['a'.repeat(128)],
  ])('may have the value %j, in the letter case given', ([value]) => {
    expect(resolved(tenant, { variables: { tenant: value } })).toEqual({
      baseUrl: `https://api.example.com/ex/${value}/v1`,
      host: 'api.example.com',
    });
  });

  test.for<[value: string]>([
    [''],
    ['.'],
    ['..'],
    ['.well-known'],
    ['a/b'],
    ['a\\b'],
    ['a%2Fb'],
    ['a;b'],
    ['a?b'],
    ['a#b'],
    ['a b'],
    ['a\n'],
    ['@evil.com'],
    ['acmé'],
    ['a'.repeat(129)],
  ])('may not have the value %j', ([value]) => {
    expect(() => resolved(tenant, { variables: { tenant: value } })).toThrow(
      'The variable "tenant" may hold',
    );
  });

  test('has to be given when it has no default', () => {
    expect(() => resolved(tenant, {})).toThrow('Give the variable "tenant": your site.');
  });
});

describe('the host of a server URL (hostOf)', () => {
  test.for<[url: string, host: string]>([
    ['https://API.Example.COM', 'api.example.com'],
    ['https://api.example.com.', 'api.example.com'],
    ['https://api.example.com:443', 'api.example.com'],
    ['https://api.example.com:8443', 'api.example.com:8443'],
    ['http://api.example.com:80', 'api.example.com'],
    ['https://[::1]:8443', '[::1]:8443'],
  ])('of %s is %s', ([url, host]) => {
    expect(hostOf(new URL(url))).toBe(host);
  });
});
