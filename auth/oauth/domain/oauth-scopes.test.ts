import { describe, expect, test } from 'vitest';

import { cliClientId } from '#contracts/oauth';
import { requestedScopes, withImpliedScopes } from './oauth-scopes.ts';

describe('the scopes of an authorization request (requestedScopes)', () => {
  test.for<[scope: string | undefined, expected: string[] | undefined]>([
    [undefined, ['mcp']],
    ['', ['mcp']],
    ['offline_access', ['mcp']],
    ['openid profile email offline_access', ['mcp']],
    ['mcp', ['mcp']],
    ['approvals actions:read', ['actions:read', 'approvals']],
    ['actions:read actions:read', ['actions:read']],
    ['actions:read offline_access', ['actions:read']],
    ['user', undefined],
    ['mcp user', undefined],
    ['admin', undefined],
    ['read write', undefined],
    ['openid phone', undefined],
    ['mcp admin', ['mcp']],
    ['mcp phone mcp:tools', ['mcp']],
    ['approvals phone user', undefined],
  ])('are, for the scope parameter %j, %j (undefined: refused)', ([scope, expected]) => {
    expect(requestedScopes(scope, 'any-client')).toEqual(expected);
  });

  test("are only the scope user for the command line's built-in OAuth client", () => {
    expect(requestedScopes(undefined, cliClientId)).toEqual(['user']);
    expect(requestedScopes('user', cliClientId)).toEqual(['user']);
    expect(requestedScopes('mcp', cliClientId)).toBeUndefined();
    expect(requestedScopes('user mcp', cliClientId)).toBeUndefined();
    expect(requestedScopes('user phone', cliClientId)).toEqual(['user']);
    expect(requestedScopes('phone', cliClientId)).toBeUndefined();
  });

  test('include all scopes that the requested scopes imply', () => {
    expect(withImpliedScopes(['mcp']).toSorted()).toEqual(
      ['actions:call', 'actions:read', 'agents', 'approvals', 'mcp'].toSorted(),
    );
    expect(withImpliedScopes(['actions:call'])).toEqual(['actions:call', 'actions:read']);
  });
});
