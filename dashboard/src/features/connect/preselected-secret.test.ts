import { expect, test } from 'vitest';

import type { Secret } from '#contracts/http/secrets';
import type { NeededSecret } from './connect-view.ts';
import { findPreselectedSecret } from './preselected-secret.ts';

const needed: NeededSecret = {
  kind: 'secret',
  scheme: 'token',
  default_secret_name: 'notes_token',
  sent_as: 'X-Key:',
  encoding: 'raw',
};
const hosts = ['api.example.com'];
const secret = (fields: Partial<Secret>) =>
  ({ name: 'notes_token', tier: 'user', allowed_hosts: hosts, ...fields }) as Secret;

test.for<[string, Secret, boolean, string[]?]>([
  ['of the suggested name that may go to the service', secret({}), true],
  ['of another name that may go to the service', secret({ name: 'app_key' }), false],
  [
    'of the suggested name that goes elsewhere',
    secret({ allowed_hosts: ['other.example'] }),
    false,
  ],
  ['of the suggested name without hosts', secret({ allowed_hosts: [] }), false],
  ['that the provider refused', secret({ refused_at: '2026-05-01T09:00:00.000Z' }), false],
  ['for a service whose hosts are not known yet', secret({}), false, []],
  ['that may go to one host of two', secret({}), false, [...hosts, 'files.example.com']],
])('a secret %s is preselected: %s', ([, stored, isPreselected, at = hosts]) => {
  const found = findPreselectedSecret([secret({ name: 'app_key' }), stored], { needed, hosts: at });
  expect(found).toBe(isPreselected ? stored : undefined);
});

test('a secret with several parts is preselected only if it may also be sent to the host of the token URL', () => {
  const app = { ...needed, parts: [], token_hosts: ['id.example.com'] };
  const find = (stored: Secret) => findPreselectedSecret([stored], { needed: app, hosts });
  expect(find(secret({}))).toBeUndefined();
  expect(find(secret({ allowed_hosts: [...hosts, 'id.example.com'] }))).toBeDefined();
});
