import { describe, expect, test } from 'vitest';

import { findCoveredApprovals } from './coverage.ts';
import { anApproval } from './fixtures.testing.ts';

const askedApproval = anApproval();
const waitingApproval = (key: string, differences = {}) =>
  anApproval({ id: 'other', permission_keys: [key], ...differences });
const isCovered = (keys: string[], candidate: ReturnType<typeof waitingApproval>) =>
  findCoveredApprovals(keys, askedApproval, [askedApproval, candidate]).length === 1;

describe('a remembered rule', () => {
  test.each([
    ['an equal key', 'github:create_issue:acme/site', 'github:create_issue:acme/site', true],
    ['another argument', 'github:create_issue:acme/site', 'github:create_issue:acme/api', false],
    ['any argument', 'github:create_issue:*', 'github:create_issue:acme/api', true],
    ['another action', 'github:create_issue:*', 'github:delete_repo:acme/api', false],
    ['any action', 'github:*:*', 'github:delete_repo:acme/api', true],
    ['another service', 'github:*:*', 'gitlab:create_issue:x', false],
    ['any path of a host', 'http:POST:a.example/**', 'http:POST:a.example/x/y', true],
    ['another host', 'http:POST:a.example/**', 'http:POST:b.example/x', false],
    ['a dot is a dot', 'http:POST:a.example/**', 'http:POST:axexample/x', false],
    ['a dash is a dash', 'http:POST:a-b.example/**', 'http:POST:a-b.example/x', true],
    ['a single star is one segment', 'http:POST:a.example/*/x', 'http:POST:a.example/b/c/x', false],
    ['ANY is any method', 'http:ANY:a.example/**', 'http:PUT:a.example/x', true],
    ['ANY is no wildcard for an action', 'github:ANY:x', 'github:list:x', false],
  ])(
    'with the pattern "$1" covers a waiting call with the key "$2": $3 (%s)',
    (_, pattern, key, expected) => {
      expect(isCovered([pattern], waitingApproval(key))).toBe(expected);
    },
  );

  test('covers a waiting call only when it covers every permission key of that call', () => {
    const both = waitingApproval('', {
      permission_keys: ['github:create_issue:acme/api', 'secret:token:api.github.com'],
    });

    expect(isCovered(['github:create_issue:*'], both)).toBe(false);
    expect(isCovered(['github:create_issue:*', 'secret:token:api.github.com'], both)).toBe(true);
  });

  test('treats a star in a permission key of the decided call literally', () => {
    const approvalWithStar = anApproval({ permission_keys: ['github:list_repos:*'] });

    expect(
      findCoveredApprovals(['github:list_repos:*'], approvalWithStar, [
        waitingApproval('github:list_repos:acme'),
      ]),
    ).toEqual([]);
  });

  test.each([
    ['of high risk', { risk: 'high' as const }],
    [
      'that is too large to be shown',
      { request: { ...askedApproval.request, too_large: true as const } },
    ],
  ])('covers no waiting call %s, even if it was made for a call of high risk', (_, differences) => {
    const deletion = anApproval({ risk: 'high' });
    const candidate = waitingApproval('github:create_issue:x', differences);

    expect(findCoveredApprovals(['github:*:*'], deletion, [candidate])).toEqual([]);
  });

  test.each([
    ['of higher risk', { risk: 'high' as const }],
    ['of another service', { service: 'org/github' }],
    ['of another placement', { placement: { id: 'else', kind: 'agent' as const, name: 'x' } }],
  ])('covers no waiting call %s', (_, differences) => {
    expect(isCovered(['github:*:*'], waitingApproval('github:create_issue:x', differences))).toBe(
      false,
    );
  });
});
