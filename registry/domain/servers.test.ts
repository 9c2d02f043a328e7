import { describe, expect, test } from 'vitest';

import { AppError } from '#errors';
import { hostOf } from './hosts.ts';
import { resolveServer } from './servers.ts';
import type { Server, ServerChoice } from './servers.ts';

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

describe('resolveServer', () => {
  test('takes a server without variables as it is', () => {
    expect(resolved(fixed, {})).toEqual({
      baseUrl: 'https://api.example.com/v1',
      host: 'api.example.com',
    });
  });

  test.for<[url: string, host: string]>([
    ['https://[2606:4700::1111]/v1', '[2606:4700::1111]'],
    ['https://1.1.1.1:8443', '1.1.1.1:8443'],
  ])('takes the address %s', ([url, host]) => {
    expect(resolved({ ...fixed, url }, {})).toEqual({ baseUrl: url, host });
  });

  test('fills in a variable and lower-cases the host', () => {
    expect(resolved(jira, { variables: { site: 'Acme' } })).toEqual({
      baseUrl: 'https://acme.atlassian.net',
      host: 'acme.atlassian.net',
    });
  });

  test('takes the default of a variable that is not given', () => {
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
  ])('refuses the variable value %j', ([value]) => {
    expect(() => resolved(jira, { variables: { site: value } })).toThrow(AppError);
  });

  test('refuses a missing and an unknown variable, naming it', () => {
    expect(() => resolved(jira, {})).toThrow(/"site"/);
    expect(() => resolved(jira, { variables: { site: 'acme', zone: 'eu' } })).toThrow(/"zone"/);
  });

  test('does not take inherited properties for variables', () => {
    const server = {
      ...jira,
      url: 'https://{toString}.example.com',
      variables: [{ ...site, name: 'toString' }],
    };

    expect(() => resolved(server, {})).toThrow(/"toString"/);
  });

  test('refuses a value that is not among those allowed', () => {
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
  ])('takes a base URL of its own: %s', ([given, baseUrl, host]) => {
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
    ['https://git.example.com/./a'],
    ['https://git.example.com//a'],
    ['https://git.example.com/%2e%2e/a'],
    ['https://git.example.com\\@evil.com'],
    ['https://git.example.com /a'],
    ['https:git.example.com'],
    ['javascript:alert(1)'],
  ])('refuses the base URL %s', ([given]) => {
    expect(() => resolved(fixed, { baseUrl: given })).toThrow(AppError);
  });

  test('takes plain http only to a host the operator allows', () => {
    const isPlainHttpAllowed = (host: string) => host === '127.0.0.1:4010';

    expect(resolved(fixed, { baseUrl: 'http://127.0.0.1:4010', isPlainHttpAllowed }).host).toBe(
      '127.0.0.1:4010',
    );
    expect(() => resolved(fixed, { baseUrl: 'http://127.0.0.1:4011', isPlainHttpAllowed })).toThrow(
      AppError,
    );
  });
});

describe('hosts', () => {
  test.for<[url: string, host: string]>([
    ['https://API.Example.COM', 'api.example.com'],
    ['https://api.example.com.', 'api.example.com'],
    ['https://api.example.com:443', 'api.example.com'],
    ['https://api.example.com:8443', 'api.example.com:8443'],
    ['http://api.example.com:80', 'api.example.com'],
    ['https://[::1]:8443', '[::1]:8443'],
  ])('%s is %s', ([url, host]) => {
    expect(hostOf(new URL(url))).toBe(host);
  });
});
