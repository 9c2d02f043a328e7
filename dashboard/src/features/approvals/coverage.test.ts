import { describe, expect, test } from 'vitest';

import { coveredBy } from './coverage.ts';
import { anApproval } from './fixtures.testing.ts';

const asked = anApproval();
const other = (key: string, differences = {}) =>
  anApproval({ id: 'other', permission_keys: [key], ...differences });
const covers = (keys: string[], candidate: ReturnType<typeof other>) =>
  coveredBy(keys, asked, [asked, candidate]).length === 1;

describe('a rule covers another waiting call', () => {
  test.each([
    ['the same key', 'github:create_issue:acme/site', 'github:create_issue:acme/site', true],
    ['another argument', 'github:create_issue:acme/site', 'github:create_issue:acme/api', false],
    ['any argument', 'github:create_issue:*', 'github:create_issue:acme/api', true],
    ['another action', 'github:create_issue:*', 'github:delete_repo:acme/api', false],
    ['any action', 'github:*:*', 'github:delete_repo:acme/api', true],
    ['another service', 'github:*:*', 'gitlab:create_issue:x', false],
    ['below a host', 'http:POST:a.example/**', 'http:POST:a.example/x/y', true],
    ['another host', 'http:POST:a.example/**', 'http:POST:b.example/x', false],
    ['a dot is a dot', 'http:POST:a.example/**', 'http:POST:axexample/x', false],
    ['a dash is a dash', 'http:POST:a-b.example/**', 'http:POST:a-b.example/x', true],
    ['one segment', 'http:POST:a.example/*/x', 'http:POST:a.example/b/c/x', false],
    ['any verb', 'http:ANY:a.example/**', 'http:PUT:a.example/x', true],
    ['ANY is no verb elsewhere', 'github:ANY:x', 'github:list:x', false],
  ])('%s', (_, pattern, key, expected) => {
    expect(covers([pattern], other(key))).toBe(expected);
  });

  test('only when every key of it is covered', () => {
    const both = other('', {
      permission_keys: ['github:create_issue:acme/api', 'secret:token:api.github.com'],
    });

    expect(covers(['github:create_issue:*'], both)).toBe(false);
    expect(covers(['github:create_issue:*', 'secret:token:api.github.com'], both)).toBe(true);
  });

  test('a key of the call is compared byte for byte, although it holds a star', () => {
    const starred = anApproval({ permission_keys: ['github:list_repos:*'] });

    expect(coveredBy(['github:list_repos:*'], starred, [other('github:list_repos:acme')])).toEqual(
      [],
    );
  });

  test.each([
    ['of high risk', { risk: 'high' as const }],
    ['that is too large to be shown', { request: { ...asked.request, too_large: true as const } }],
  ])('that itself is of high risk covers none %s', (_, differences) => {
    const deletion = anApproval({ risk: 'high' });
    const candidate = other('github:create_issue:x', differences);

    expect(coveredBy(['github:*:*'], deletion, [candidate])).toEqual([]);
  });

  test.each([
    ['of higher risk', { risk: 'high' as const }],
    ['of another service', { service: 'org/github' }],
    ['of another place', { placement: { id: 'else', kind: 'agent' as const, name: 'x' } }],
  ])('never one %s', (_, differences) => {
    expect(covers(['github:*:*'], other('github:create_issue:x', differences))).toBe(false);
  });
});
