import { created, until } from '../support/world.ts';
import { refused, remove, sent, servicePath, stale } from './mutation.ts';
import type { Mutation } from './mutation.ts';
import { valueOf } from './stage.ts';
import type { Scene } from './stage.ts';

const store = async ({ admin, secret }: Scene, fields: object) =>
  created(await admin.post('/v1/secrets', { name: secret, ...fields }));
const rotate = (scene: Scene, more: object = {}) =>
  store(scene, { value: valueOf(scene.name, 2), ...more });
const secretPath = ({ secretId }: Scene) => `/v1/secrets/${secretId}`;
const change = async ({ admin }: Scene, { id }: { id: string }, body: object) =>
  created(await admin.patch(`/v1/identities/${id}`, body));
const move = async ({ admin }: Scene, { id }: { id: string }, to: string) =>
  created(await admin.post(`/v1/identities/${id}/${to}`));

/** By what right it is made: its secret, the rules, and who asks and allows. */
export const mutationsOfAuthority: Record<string, Mutation> = {
  'the secret rotated': {
    change: (scene) => rotate(scene),
    outcome: sent(2),
  },
  'the secret of a raw call rotated': {
    call: 'raw',
    change: (scene) => rotate(scene),
    outcome: sent(2),
  },
  'another secret in the service': {
    async change(scene) {
      const name = `${scene.secret}_2`;
      await rotate(scene, { name, allowed_hosts: [scene.host] });
      const credentials = { secrets: { token: name } };
      created(await scene.admin.patch(servicePath(scene), { credentials }));
    },
    outcome: stale('credential'),
  },
  'the secret deleted': {
    change: (scene) => remove(scene, secretPath(scene)),
    outcome: refused('credential_missing'),
  },
  'the secret deleted and made anew': {
    async change(scene) {
      await remove(scene, secretPath(scene));
      await store(scene, { value: valueOf(scene.name, 1), allowed_hosts: [scene.host] });
    },
    outcome: stale('credential'),
  },
  'the secret of a raw call deleted and made anew': {
    call: 'raw',
    async change(scene) {
      await remove(scene, secretPath(scene));
      await store(scene, { value: valueOf(scene.name, 1), allowed_hosts: [scene.host] });
    },
    outcome: stale('credential'),
  },
  'the secret kept to other hosts': {
    change: (scene) => rotate(scene, { allowed_hosts: [scene.other.host] }),
    outcome: stale('credential'),
  },
  "a secret of the user's in the place of the org's, of a raw call": {
    call: 'raw',
    tier: 'org',
    change: (scene) => rotate(scene, { allowed_hosts: [scene.host] }),
    outcome: sent(),
  },
  "a secret of the user's in the place of the org's": {
    tier: 'org',
    change: (scene) => rotate(scene, { allowed_hosts: [scene.host] }),
    outcome: sent(),
  },

  'a deny rule on the requester': {
    change: ({ rule, name }) => rule('deny', `${name}:create_note:*`),
    outcome: refused('denied'),
  },
  'a deny rule on the org': {
    change: ({ rule, name }) =>
      rule('deny', `${name}:*:*`, { identity_id: null, risk_at_least: 'write' }),
    outcome: refused('denied'),
  },
  'a deny rule on the org, of a call by method and path': {
    call: 'verb',
    change: ({ rule, name }) => rule('deny', `${name}:create_note:*`, { identity_id: null }),
    outcome: refused('denied'),
  },
  'a deny rule on the secret of a raw call': {
    call: 'raw',
    change: ({ rule, secret }) => rule('deny', `secret:${secret}:*`),
    outcome: refused('denied'),
  },
  'a deny rule on something else': {
    change: ({ rule, name }) => rule('deny', `${name}:list_notes:*`),
    outcome: sent(),
  },
  'a deny rule made and deleted again': {
    async change(scene) {
      const { id } = await scene.rule('deny', `${scene.name}:*:*`);
      await remove(scene, `/v1/rules/${id}`);
    },
    outcome: sent(),
  },
  'an allow rule for the same': {
    change: ({ rule, name }) => rule('allow', `${name}:create_note:*`),
    outcome: sent(),
  },
  'the allow rule deleted for a part that nobody was asked about': {
    call: 'raw',
    granted: ({ secret, host }) => `secret:${secret}:${host}`,
    change: (scene) => remove(scene, `/v1/rules/${scene.grantedRuleId}`),
    outcome: stale('permission'),
  },

  'the requester archived': {
    change: (scene) => move(scene, scene.requester, 'archive'),
    outcome: refused('identity_archived'),
  },
  'the requester archived and restored': {
    async change(scene) {
      await move(scene, scene.requester, 'archive');
      await move(scene, scene.requester, 'restore');
    },
    outcome: sent(),
  },
  'the requester revoked': {
    change: (scene) => move(scene, scene.requester, 'revoke'),
    outcome: refused('identity_archived', 'unauthenticated'),
  },
  'the requester at its end': {
    async change(scene) {
      const { requester } = scene;
      const end = new Date(Date.now() + 2_000).toISOString();
      await change(scene, requester, { expires_at: end });
      const isOver = async () => (await requester.get('/v1/identities/me')).status !== 200;
      await until(isOver, 'its end');
    },
    outcome: refused('identity_archived', 'unauthenticated'),
  },
  'the requester under another name': {
    change: (scene) => change(scene, scene.requester, { name: `${scene.name}-renamed` }),
    outcome: sent(),
  },
  'the agent archived that allowed it': {
    isByParent: true,
    change: (scene) => move(scene, scene.parent, 'archive'),
    outcome: refused('identity_archived'),
  },
  'the rule deleted by which the agent allowed it': {
    isByParent: true,
    async change(scene) {
      const { admin, parent } = scene;
      const { items } = created(await admin.get(`/v1/rules?identity_id=${parent.id}`));
      for (const { id } of items) await remove(scene, `/v1/rules/${id}`);
    },
    outcome: stale('resolver'),
  },
};
