import { expect, test } from 'vitest';

import type { Connection } from '#contracts/http/connections';
import type { SecretDetail } from '#contracts/http/secrets';
import type { TemplateDetail } from '#contracts/http/templates';
import { aService } from '../services/fixtures.testing.ts';
import {
  accountStateOf,
  describeSecretUses,
  findSubstitute,
  findUser,
  neededSecretOf,
  scopesInWords,
  sortAccounts,
  usersOf,
} from './credentials-view.ts';

const anAccount = (differences: Partial<Connection> = {}) =>
  ({
    id: '1',
    name: 'github',
    provider: 'github',
    tier: 'user',
    status: 'active',
    granted_scopes: ['repo', 'toString'],
    ...differences,
  }) as Connection;

test('an account is used by the services that refer to its name and tier', () => {
  const services = [
    aService({ credentials: { secrets: {}, connection: 'github' } }),
    aService({
      name: 'shared',
      tier: 'org',
      credentials: { secrets: {}, connection: 'org/github' },
    }),
  ];
  expect(usersOf(anAccount(), services)).toEqual(['github']);
  expect(usersOf(anAccount({ tier: 'org' }), services)).toEqual(['org/shared']);
});

test('the state of an account is described in words, and accounts that do not work come first', () => {
  const accounts = [
    anAccount({ name: 'ended', status: 'revoked' }),
    anAccount({ name: 'fine' }),
    anAccount({ name: 'old', status: 'needs_reauth' }),
    anAccount({ name: 'refused', refused_at: '2026-05-01T10:00:00.000Z' }),
  ];
  expect(
    sortAccounts(accounts).map((each) => `${each.name}: ${accountStateOf(each).words}`),
  ).toEqual(['old: To renew', 'refused: Refused', 'fine: Connected', 'ended: Disconnected']);
});

test('scopes are described in the words of the template, if the template has words for them', () => {
  const template = {
    ways: [
      [
        {
          kind: 'connection',
          scheme: 'oauth',
          provider: 'github',
          scopes: ['repo'],
          scope_words: { repo: 'Read and change repositories' },
        },
      ],
    ],
  } satisfies Pick<TemplateDetail, 'ways'>;
  expect(scopesInWords(anAccount(), template)).toEqual([
    { scope: 'repo', words: 'Read and change repositories' },
    { scope: 'toString', words: null },
  ]);
  expect(scopesInWords(anAccount({ provider: 'other' }), template)[0]?.words).toBeNull();
  expect(scopesInWords(anAccount(), null)[0]?.words).toBeNull();
});

test('a secret has the parts of the security scheme for which a service uses it', () => {
  const secret = {
    kind: 'secret' as const,
    scheme: 'token',
    default_secret_name: 'x',
    sent_as: 'Authorization: Bearer',
    encoding: 'raw' as const,
  };
  const other = { ...secret, scheme: 'app' };
  const service = aService();
  expect(findUser([service], 'github_token')).toBe(service);
  expect(findUser([service], 'org/github_token')).toBeUndefined();
  expect(neededSecretOf(service, { ways: [[other], [secret]] }, 'github_token')).toBe(secret);
  expect(neededSecretOf(service, { ways: [[other]] }, 'github_token')).toBeUndefined();
});

test('before a secret is deleted, the text says how many services will stop working', () => {
  const use = { id: '1', name: 'github', tier: 'user' as const, owner_id: null };
  expect(describeSecretUses({ used_by: [] })).toContain('No connected service');
  expect(describeSecretUses({ used_by: [use] })).toBe('This service cannot be called any more:');
  expect(describeSecretUses({ used_by: [use, use] })).toContain('These 2 services');
  expect(describeSecretUses({ used_by: Array.from({ length: 50 }, () => use) })).toContain(
    '50 services or more',
  );
});

test('a secret of the org replaces a person’s own secret of the same name', () => {
  const own = { name: 'github_token', tier: 'user' } as SecretDetail;
  const shared = { name: 'github_token', tier: 'org' } as SecretDetail;
  const other = { name: 'slack_token', tier: 'org' } as SecretDetail;
  expect(findSubstitute(own, [other, own, shared])).toBe('org/github_token');
  expect(findSubstitute(own, [other, own])).toBeUndefined();
  expect(findSubstitute(shared, [own, shared])).toBeUndefined();
});
