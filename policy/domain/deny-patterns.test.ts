import { describe, expect, test } from 'vitest';

import { actionKey, compilePattern, httpKey, secretKey } from '#permission-key';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import type { DenyName } from './deny-patterns.ts';
import { fold } from './folding.ts';

const pattern = (text: string) => compilePattern(text, false);

describe('what a deny rule could mean', () => {
  const known: DenyName = { service: 'github', action: 'issues.create', args: ['acme/site'] };
  const unknownArgument: DenyName = { ...known, args: undefined };
  const several: DenyName = { ...known, args: ['acme/api', 'acme/site'] };
  const unlisted: DenyName = {
    service: 'github',
    action: {
      among: new Set(['issues.create', 'repos.create']),
      notAmong: new Set(['issues.list', 'repos.delete']),
    },
    args: undefined,
  };
  const anything: DenyName = { ...unlisted, service: undefined };

  test.for<[name: string, pattern: string, deny: DenyName, expected: boolean]>([
    ['a known name is matched like a key', 'github:issues.create:acme/*', known, true],
    ['and refused like one', 'github:issues.create:other/*', known, false],
    ['any of several values', 'github:issues.create:acme/site', several, true],
    ['none of several values', 'github:issues.create:acme/web', several, false],
    ['an unknown argument could be any', 'github:issues.create:other/*', unknownArgument, true],
    ['but not of another action', 'github:issues.close:*', unknownArgument, false],
    ['an unlisted operation could be one of its method', 'github:repos.create:x', unlisted, true],
    ['not one of another method', 'github:repos.delete:*', unlisted, false],
    ['but one that the template does not know', 'github:repos.transfer:*', unlisted, true],
    ['any action', 'github:*:*', unlisted, true],
    ['not another service', 'gitlab:*:*', unlisted, false],
    ['a service that was not looked at could be any', 'gitlab:files.get:x', anything, true],
    ['but is no raw HTTP', 'http:*:*', anything, false],
  ])('%s', ([, text, deny, expected]) => {
    expect(couldDeny(pattern(text), deny)).toBe(expected);
  });
});

describe('addresses and credentials of an action', () => {
  const http: DenyName = {
    service: 'http',
    action: 'GET',
    args: ['api.example.com/v1/x'],
    needs: 'host',
  };
  const secret: DenyName = {
    service: 'secret',
    action: 'token',
    args: ['api.example.com'],
    needs: 'credential',
  };

  test.for<[pattern: string, name: DenyName, expected: boolean]>([
    ['http:GET:api.example.com/**', http, true],
    ['http:ANY:api.example.com/v1/*', http, true],
    ['*:GET:api.example.com/**', http, true],
    ['http:POST:api.example.com/**', http, false],
    ['http:GET:other.example.com/**', http, false],
    ['http:*:*', http, false],
    ['http:ANY:**', http, false],
    ['http:ANY:*.example.com/**', http, false],
    ['http:ANY:**/v1/x', http, false],
    ['http:GET:api.example.com/**', { ...http, action: 'HEAD' }, true],
    ['http:HEAD:api.example.com/**', http, false],
    ['secret:token:*', secret, true],
    ['secret:*:api.example.com', secret, true],
    ['secret:*:other.example.com', secret, false],
    ['secret:*:*', secret, false],
    ['secret:*:*.example.com', secret, false],
    ['secret:other:*', secret, false],
    ['connection:token:*', secret, false],
  ])('%s', ([text, name, expected]) => {
    expect(couldDeny(pattern(text), name)).toBe(expected);
  });
});

describe('a key under a deny', () => {
  test.for<[pattern: string, arg: string, expected: boolean]>([
    ['acme/site', 'ACME/Site', true],
    ['Acme/Site', 'acme/site', true],
    ['acme/site', 'acme/site.git', true],
    ['acme/site.git', 'Acme/Site', true],
    ['acme/site', 'acme/site.GIT', true],
    ['acme/site', ' acme/site ', true],
    ['acme/site', 'acme/site\t', true],
    ['acme/*', 'acme/site.git', true],
    ['*/site', 'acme/site.git', true],
    ['*.git', 'site.git', true],
    ['*.git', 'site', false],
    ['a.git/*.git', 'a.git/b.git', true],
    ['caf\u00e9', 'CAFE\u0301', true],
    ['stra\u00dfe', 'STRASSE', true],
    ['acme/site', 'acme/site2', false],
    ['acme/site', 'acme site', false],
    ['a*b', 'a%b', true],
    ['a%2Ab', 'axb', false],
    ['a%2ab', 'a*b', true],
    ['.git', '.git', true],
  ])('%j of %j', ([text, arg, expected]) => {
    expect(deniesKey(pattern(`github:push:${text}`), actionKey('github', 'push', arg))).toBe(
      expected,
    );
  });

  test('of an address', () => {
    const key = (path: string) => httpKey('GET', 'a.example', path);
    const deny = pattern('http:GET:a.example/Caf%C3%A9/secret');

    expect(deniesKey(deny, key('/caf%C3%A9/SECRET'))).toBe(true);
    expect(deniesKey(deny, key('/CAFE%CC%81/secret%20'))).toBe(true);
    expect(deniesKey(deny, key('/cafe/secret'))).toBe(false);
    expect(deniesKey(deny, { ...key('/caf%C3%A9/secret'), action: 'HEAD' })).toBe(true);
    expect(deniesKey(deny, { ...key('/caf%C3%A9/secret'), action: 'POST' })).toBe(false);
  });

  test('of a credential', () => {
    expect(deniesKey(pattern('secret:token:*'), secretKey('token', 'a.example'))).toBe(true);
    expect(deniesKey(pattern('secret:*:*'), secretKey('token', 'a.example'))).toBe(true);
  });

  test('folds a long text in one pass', () => {
    const blanks = ' '.repeat(200_000);
    const before = process.cpuUsage();
    fold(`a${blanks}b/${'%20'.repeat(100_000)}x${'.git'.repeat(50_000)}`);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(500);
  });
});
