import { describe, expect, test } from 'vitest';

import { actionKey, compilePattern, httpKey, positionsKey, secretKey } from '#permission-key';
import { couldDeny, deniesKey } from './deny-patterns.ts';
import type { DenyName } from './deny-patterns.ts';

const patternOf = (text: string) => compilePattern(text, false);

describe('whether a deny rule could match a call by one of its names (couldDeny):', () => {
  const knownName: DenyName = { service: 'github', action: 'issues.create', args: ['acme/site'] };
  const unknownArgument: DenyName = { ...knownName, args: undefined };
  const severalArguments: DenyName = { ...knownName, args: ['acme/api', 'acme/site'] };
  const unlistedName: DenyName = {
    service: 'github',
    action: undefined,
    args: undefined,
  };
  const anyServiceName: DenyName = { ...unlistedName, service: undefined };

  test.for<[name: string, pattern: string, deny: DenyName, expected: boolean]>([
    [
      'a known action and argument match like a permission key',
      'github:issues.create:acme/*',
      knownName,
      true,
    ],
    ['another argument does not match', 'github:issues.create:other/*', knownName, false],
    [
      'one of several possible arguments matches',
      'github:issues.create:acme/site',
      severalArguments,
      true,
    ],
    [
      'several possible arguments do not match when none of them fits',
      'github:issues.create:acme/web',
      severalArguments,
      false,
    ],
    [
      'an unknown argument matches any argument',
      'github:issues.create:other/*',
      unknownArgument,
      true,
    ],
    [
      'an unknown argument of another action does not match',
      'github:issues.close:*',
      unknownArgument,
      false,
    ],
    [
      'a request that no template lists matches every action of the service',
      'github:repos.transfer:x',
      unlistedName,
      true,
    ],
    ['a request that no template lists matches a wildcard', 'github:*:*', unlistedName, true],
    [
      'a request that no template lists does not match another service',
      'gitlab:*:*',
      unlistedName,
      false,
    ],
    [
      'a request of an unknown service matches every service',
      'gitlab:files.get:x',
      anyServiceName,
      true,
    ],
    [
      'a request of an unknown service does not match the service http',
      'http:*:*',
      anyServiceName,
      false,
    ],
  ])('%s (the pattern $1)', ([, text, deny, expected]) => {
    expect(couldDeny(patternOf(text), deny)).toBe(expected);
  });
});

describe('a deny rule for an address or a credential, compared with an action that calls api.example.com with the secret token:', () => {
  const addressName: DenyName = {
    service: 'http',
    action: 'GET',
    args: ['api.example.com/v1/x'],
    needs: 'host',
  };
  const credentialName: DenyName = {
    service: 'secret',
    action: 'token',
    args: ['api.example.com'],
    needs: 'credential',
  };

  test.for<[pattern: string, name: DenyName, expected: boolean]>([
    ['http:GET:api.example.com/**', addressName, true],
    ['http:ANY:api.example.com/v1/*', addressName, true],
    ['*:GET:api.example.com/**', addressName, true],
    ['http:POST:api.example.com/**', addressName, false],
    ['http:GET:other.example.com/**', addressName, false],
    ['http:*:*', addressName, false],
    ['http:ANY:**', addressName, false],
    ['http:ANY:*.example.com/**', addressName, false],
    ['http:ANY:**/v1/x', addressName, false],
    ['http:GET:api.example.com/**', { ...addressName, action: 'HEAD' }, true],
    ['http:HEAD:api.example.com/**', addressName, false],
    ['secret:token:*', credentialName, true],
    ['secret:*:api.example.com', credentialName, true],
    ['secret:*:other.example.com', credentialName, false],
    ['secret:*:*', credentialName, false],
    ['secret:*:*.example.com', credentialName, false],
    ['secret:other:*', credentialName, false],
    ['connection:token:*', credentialName, false],
  ])('the pattern %s matches the call: $2', ([text, name, expected]) => {
    expect(couldDeny(patternOf(text), name)).toBe(expected);
  });
});

describe('a deny rule compared with a permission key', () => {
  test.for<[pattern: string, arg: string, expected: boolean]>([
    ['acme/site', 'ACME/Site', true],
    ['Acme/Site', 'acme/site', true],
    ['acme/site', 'acme/site.git', false],
    ['acme/site', ' acme/site ', true],
    [' acme/site ', 'acme/site', true],
    ['acme/site', 'acme/site\t', true],
    ['acme/site', 'acme\u0085/\0site\u001f', true],
    ['acme/site', 'acme/si\u001fte', false],
    ['acme/ *', 'acme/ x ', true],
    ['*/site', 'acme/site', true],
    ['note *', 'note ', true],
    ['caf\u00e9', 'CAFE\u0301', true],
    ['stra\u00dfe', 'STRASSE', true],
    ['site', '\uff53ite', false],
    ['1', '01', false],
    ['acme/site', 'acme/site2', false],
    ['acme/site', 'acme site', false],
    ['a*b', 'a%b', true],
    ['a%2Ab', 'axb', false],
    ['a%2Ab', 'a*b', true],
  ])('compares its argument %j with the argument %j (matches: %s)', ([text, arg, expected]) => {
    expect(deniesKey(patternOf(`github:push:${text}`), actionKey('github', 'push', arg))).toBe(
      expected,
    );
  });

  test('matches an address in every letter case and encoding', () => {
    const keyOf = (path: string) => httpKey('GET', 'a.example', path);
    const deny = patternOf('http:GET:a.example/Caf%C3%A9/secret');

    expect(deniesKey(deny, keyOf('/caf%C3%A9/SECRET'))).toBe(true);
    expect(deniesKey(deny, keyOf('/CAFE%CC%81/secret%20'))).toBe(true);
    expect(deniesKey(deny, keyOf('/caf%C3%A9/secret/'))).toBe(true);
    expect(deniesKey(deny, keyOf('/caf%C3%A9//secret'))).toBe(true);
    expect(deniesKey(deny, keyOf('/cafe/secret'))).toBe(false);
    expect(deniesKey(deny, { ...keyOf('/caf%C3%A9/secret'), action: 'HEAD' })).toBe(true);
    expect(deniesKey(deny, { ...keyOf('/caf%C3%A9/secret'), action: 'POST' })).toBe(false);
  });

  test('matches the permission key of a credential', () => {
    expect(deniesKey(patternOf('secret:token:*'), secretKey('token', 'a.example'))).toBe(true);
    expect(deniesKey(patternOf('secret:*:*'), secretKey('token', 'a.example'))).toBe(true);
  });

  test.for<[pattern: string, first: string, expected: boolean]>([
    ['a%2Fb/*', 'a / b', true],
    ['a%2Fb/*', ' A/\tb', true],
    ['a %2F b/*', 'a/b', true],
    ['a%2Fb/*', 'a%2Fb', false],
    ['a%2Fb/*', 'a /c', false],
  ])(
    'compares its two positions %j with the value %j in the first position (matches: %s)',
    ([text, first, expected]) => {
      const key = positionsKey('jira', 'create', [first, 'Bug']);
      expect(deniesKey(patternOf(`jira:create:${text}`), key)).toBe(expected);
    },
  );

  test('matches, if its text is exact, a partly unknown argument that could be this text', () => {
    const exact = compilePattern('jira:create:SEC/Bug', true);
    const keyOf = (...positions: (string | undefined)[]) =>
      positionsKey('jira', 'create', positions);

    expect(deniesKey(exact, keyOf('SEC', undefined))).toBe(true);
    expect(deniesKey(exact, keyOf('OPS', undefined))).toBe(false);
    expect(deniesKey(compilePattern('jira:create:SEC/*', true), keyOf('SEC', 'Bug'))).toBe(false);
  });
});
