import { describe, expect, test } from 'vitest';

import { cliClientId } from '#contracts/oauth';
import { requestedScopes, withImplied } from './oauth-scopes.ts';

describe('requested scopes', () => {
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
    ['mcp admin', undefined],
  ])('%s', ([scope, expected]) => {
    expect(requestedScopes(scope, 'any-client')).toEqual(expected);
  });

  test('of the seeded client are to act as the user, and nothing else', () => {
    expect(requestedScopes(undefined, cliClientId)).toEqual(['user']);
    expect(requestedScopes('user', cliClientId)).toEqual(['user']);
    expect(requestedScopes('mcp', cliClientId)).toBeUndefined();
    expect(requestedScopes('user mcp', cliClientId)).toBeUndefined();
  });

  test('are compared with all they imply', () => {
    expect(withImplied(['mcp']).toSorted()).toEqual(
      ['actions:call', 'actions:read', 'agents', 'approvals', 'mcp'].toSorted(),
    );
    expect(withImplied(['actions:call'])).toEqual(['actions:call', 'actions:read']);
  });
});
