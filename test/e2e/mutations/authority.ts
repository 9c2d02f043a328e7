import { successfulBodyOf, pollUntil } from '../../support/world.ts';
import {
  refusedOutcome,
  deleteResource,
  sentOutcome,
  servicePath,
  staleOutcome,
} from './mutation.ts';
import type { Mutation } from './mutation.ts';
import { secretValueOf } from './stage.ts';
import type { Scene } from './stage.ts';

const storeSecret = async ({ admin, secret }: Scene, fields: object) =>
  successfulBodyOf(await admin.post('/v1/secrets', { name: secret, ...fields }));
const rotateSecret = (scene: Scene, more: object = {}) =>
  storeSecret(scene, { value: secretValueOf(scene.name, 2), ...more });
const secretPath = ({ secretId }: Scene) => `/v1/secrets/${secretId}`;
const changeIdentity = async ({ admin }: Scene, { id }: { id: string }, body: object) =>
  successfulBodyOf(await admin.patch(`/v1/identities/${id}`, body));
const setIdentityStatus = async ({ admin }: Scene, { id }: { id: string }, to: string) =>
  successfulBodyOf(await admin.post(`/v1/identities/${id}/${to}`));

/**
 * Changes of the right to make the call: of its secret, the rules, the requester and the person who
 * decides.
 */
export const mutationsOfAuthority: Record<string, Mutation> = {
  'a new value for its secret': {
    change: (scene) => rotateSecret(scene),
    outcome: sentOutcome(2),
  },
  'a new value for its secret, for a raw call': {
    call: 'raw',
    change: (scene) => rotateSecret(scene),
    outcome: sentOutcome(2),
  },
  'a change of its service to another secret': {
    async change(scene) {
      const name = `${scene.secret}_2`;
      await rotateSecret(scene, { name, allowed_hosts: [scene.host] });
      const credentials = { secrets: { token: name } };
      successfulBodyOf(await scene.admin.patch(servicePath(scene), { credentials }));
    },
    outcome: staleOutcome('credential'),
  },
  'the deletion of its secret': {
    change: (scene) => deleteResource(scene, secretPath(scene)),
    outcome: refusedOutcome('credential_missing'),
  },
  'the deletion of its secret and the creation of a new one': {
    async change(scene) {
      await deleteResource(scene, secretPath(scene));
      await storeSecret(scene, {
        value: secretValueOf(scene.name, 1),
        allowed_hosts: [scene.host],
      });
    },
    outcome: staleOutcome('credential'),
  },
  'the deletion of its secret and the creation of a new one, for a raw call': {
    call: 'raw',
    async change(scene) {
      await deleteResource(scene, secretPath(scene));
      await storeSecret(scene, {
        value: secretValueOf(scene.name, 1),
        allowed_hosts: [scene.host],
      });
    },
    outcome: staleOutcome('credential'),
  },
  'the change of its secret’s hosts to other hosts': {
    change: (scene) => rotateSecret(scene, { allowed_hosts: [scene.other.host] }),
    outcome: staleOutcome('credential'),
  },
  "a new secret of the user with the name of the org's secret, for a raw call": {
    call: 'raw',
    tier: 'org',
    change: (scene) => rotateSecret(scene, { allowed_hosts: [scene.host] }),
    outcome: sentOutcome(),
  },
  "a new secret of the user with the name of the org's secret": {
    tier: 'org',
    change: (scene) => rotateSecret(scene, { allowed_hosts: [scene.host] }),
    outcome: sentOutcome(),
  },

  'a deny rule on the requester': {
    change: ({ rule, name }) => rule('deny', `${name}:create_note:*`),
    outcome: refusedOutcome('denied'),
  },
  'a deny rule on the org': {
    change: ({ rule, name }) =>
      rule('deny', `${name}:*:*`, { identity_id: null, risk_at_least: 'write' }),
    outcome: refusedOutcome('denied'),
  },
  'a deny rule on the org, for a call by method and path': {
    call: 'verb',
    change: ({ rule, name }) => rule('deny', `${name}:create_note:*`, { identity_id: null }),
    outcome: refusedOutcome('denied'),
  },
  'a deny rule on the secret of a raw call': {
    call: 'raw',
    change: ({ rule, secret }) => rule('deny', `secret:${secret}:*`),
    outcome: refusedOutcome('denied'),
  },
  'a deny rule on another action': {
    change: ({ rule, name }) => rule('deny', `${name}:list_notes:*`),
    outcome: sentOutcome(),
  },
  'the creation and the deletion of a deny rule': {
    async change(scene) {
      const { id } = await scene.rule('deny', `${scene.name}:*:*`);
      await deleteResource(scene, `/v1/rules/${id}`);
    },
    outcome: sentOutcome(),
  },
  'an allow rule for this call': {
    change: ({ rule, name }) => rule('allow', `${name}:create_note:*`),
    outcome: sentOutcome(),
  },
  'the deletion of an allow rule for a permission key that the approval left out': {
    call: 'raw',
    grantedPatternOf: ({ secret, host }) => `secret:${secret}:${host}`,
    change: (scene) => deleteResource(scene, `/v1/rules/${scene.grantedRuleId}`),
    outcome: staleOutcome('permission'),
  },

  'the archiving of the requester': {
    change: (scene) => setIdentityStatus(scene, scene.requester, 'archive'),
    outcome: refusedOutcome('identity_archived'),
  },
  'the archiving and the restoration of the requester': {
    async change(scene) {
      await setIdentityStatus(scene, scene.requester, 'archive');
      await setIdentityStatus(scene, scene.requester, 'restore');
    },
    outcome: sentOutcome(),
  },
  'the revocation of the requester': {
    change: (scene) => setIdentityStatus(scene, scene.requester, 'revoke'),
    outcome: refusedOutcome('identity_archived', 'unauthenticated'),
  },
  'the requester’s expiry': {
    async change(scene) {
      const { requester } = scene;
      const expiryTime = new Date(Date.now() + 2_000).toISOString();
      await changeIdentity(scene, requester, { expires_at: expiryTime });
      const isOver = async () => (await requester.get('/v1/identities/me')).status !== 200;
      await pollUntil(isOver, 'its end');
    },
    outcome: refusedOutcome('identity_archived', 'unauthenticated'),
  },
  'a new name of the requester': {
    change: (scene) => changeIdentity(scene, scene.requester, { name: `${scene.name}-renamed` }),
    outcome: sentOutcome(),
  },
  'the archiving of the agent that allowed the call': {
    isByParent: true,
    change: (scene) => setIdentityStatus(scene, scene.parent, 'archive'),
    outcome: refusedOutcome('identity_archived'),
  },
  'the deletion of the rule that gave an agent the right to allow the call': {
    isByParent: true,
    async change(scene) {
      const { admin, parent } = scene;
      const { items } = successfulBodyOf(await admin.get(`/v1/rules?identity_id=${parent.id}`));
      for (const { id } of items) await deleteResource(scene, `/v1/rules/${id}`);
    },
    outcome: staleOutcome('resolver'),
  },
};
