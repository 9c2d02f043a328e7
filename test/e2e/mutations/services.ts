import { successfulBodyOf } from '../../support/world.ts';
import {
  refusedOutcome,
  deleteResource,
  sentOutcome,
  servicePath,
  staleOutcome,
} from './mutation.ts';
import type { Mutation } from './mutation.ts';
import type { Scene } from './stage.ts';

const templatePath = ({ name }: Scene) => `/v1/templates/${name}`;
const upgradeService = async (scene: Scene, body: object = {}) =>
  successfulBodyOf(await scene.admin.post(`${servicePath(scene)}/upgrade`, body));
const setServiceDisabled = async (scene: Scene, disabled: boolean) =>
  successfulBodyOf(await scene.admin.patch(servicePath(scene), { disabled }));

/**
 * Changes an operation's path in the document, so that the same arguments would make another
 * request.
 */
const changePath = (document: string) => document.replaceAll('/notes:', '/elsewhere:');
const changeServer = ({ document, host, other }: Scene) => document.replace(host, other.host);
const removeAction = (document: string) =>
  document.replace('operationId: create_note', 'operationId: create_note\n      disabled: true');

/** Changes of what the call is built from: its parameters, its template, and its service. */
export const mutationsOfServices: Record<string, Mutation> = {
  'no change': { change: async () => undefined, outcome: sentOutcome() },
  'no change, for a call by method and path': {
    call: 'verb',
    change: async () => undefined,
    outcome: sentOutcome(),
  },
  'no change, for a raw call': {
    call: 'raw',
    change: async () => undefined,
    outcome: sentOutcome(),
  },

  'other parameters, which a replay does not accept': {
    async change({ requester, admin, approvalId, name }) {
      const others = [{ params: { title: 'x' } }, { service: name }, { body: {} }, { filter: '.' }];
      for (const other of others) {
        const body = { approval_id: approvalId, ...other };
        const { status } = await requester.post('/v1/actions/call', body);
        if (status !== 400) throw new Error(`a resume took ${JSON.stringify(other)}`);
        const replayReply = await admin.post(`/v1/approvals/${approvalId}/call`, other);
        if (replayReply.status !== 400) throw new Error(`a run took ${JSON.stringify(other)}`);
      }
    },
    outcome: sentOutcome(),
  },

  'a new version of the template, which the service does not use': {
    change: (scene) => scene.publish(changePath(scene.document)),
    outcome: sentOutcome(),
  },
  'an upgrade of the service to a new version of the template': {
    async change(scene) {
      await scene.publish(changePath(scene.document));
      await upgradeService(scene);
    },
    outcome: staleOutcome('template'),
  },
  'an upgrade to an identical new version of the template': {
    async change(scene) {
      await scene.publish(`${scene.document}\n`);
      await upgradeService(scene);
    },
    outcome: staleOutcome('template'),
  },
  'an upgrade to a version at another host, with the secret allowed for that host': {
    async change(scene) {
      await scene.publish(changeServer(scene));
      await upgradeService(scene, { credentials: { secrets: { token: scene.secret } } });
    },
    outcome: staleOutcome('template'),
  },
  'an upgrade to a version with the action disabled': {
    async change(scene) {
      await scene.publish(removeAction(scene.document));
      await upgradeService(scene);
    },
    outcome: staleOutcome('template'),
  },
  'the disabling of the template': {
    change: async (scene) =>
      successfulBodyOf(await scene.admin.post(`${templatePath(scene)}/disable`)),
    outcome: refusedOutcome('unknown_service'),
  },
  'the disabling and the enabling of the template': {
    async change(scene) {
      successfulBodyOf(await scene.admin.post(`${templatePath(scene)}/disable`));
      successfulBodyOf(await scene.admin.post(`${templatePath(scene)}/enable`));
    },
    outcome: sentOutcome(),
  },
  'a change of a built-in template’s file': {
    tier: 'global',
    change: (scene) => scene.publish(changePath(scene.document)),
    outcome: sentOutcome(),
  },
  'a change of a built-in template’s file and an upgrade of the service to it': {
    tier: 'global',
    async change(scene) {
      await scene.publish(changePath(scene.document));
      await upgradeService(scene);
    },
    outcome: staleOutcome('template'),
  },
  'a new template of the user with the key of the built-in template': {
    tier: 'global',
    async change(scene) {
      const { admin, document } = scene;
      const openapi = changePath(document);
      successfulBodyOf(await admin.post('/v1/templates', { openapi }));
      successfulBodyOf(await admin.post(`${templatePath(scene)}/publish`, { version: 1 }));
    },
    outcome: sentOutcome(),
  },

  'the deletion of the service': {
    change: (scene) => deleteResource(scene, servicePath(scene)),
    outcome: refusedOutcome('unknown_service'),
  },
  'the deletion of the service and its creation with equal settings': {
    async change(scene) {
      await deleteResource(scene, servicePath(scene));
      await scene.connect();
    },
    outcome: staleOutcome('service'),
  },
  'the deletion of the service and its creation at another base URL': {
    async change(scene) {
      await deleteResource(scene, servicePath(scene));
      await scene.connect({ base_url: scene.other.url });
    },
    outcome: staleOutcome('service'),
  },
  'the deletion of the service and its creation at another base URL, for a call by method and path':
    {
      call: 'verb',
      async change(scene) {
        await deleteResource(scene, servicePath(scene));
        await scene.connect({ base_url: scene.other.url });
      },
      outcome: staleOutcome('service'),
    },
  'the deletion of the service and its creation with another server variable': {
    hasSite: true,
    async change(scene) {
      await deleteResource(scene, servicePath(scene));
      await scene.connect({ variables: { site: 'b' } });
    },
    outcome: staleOutcome('service'),
  },
  'an upgrade to a new version of the template with another server variable': {
    hasSite: true,
    async change(scene) {
      await scene.publish(changePath(scene.document));
      await upgradeService(scene, { variables: { site: 'b' } });
    },
    outcome: staleOutcome('template'),
  },
  'a new name of the service': {
    async change(scene) {
      await deleteResource(scene, servicePath(scene));
      await scene.connect({ name: `${scene.name}-renamed` });
    },
    outcome: refusedOutcome('unknown_service'),
  },
  'the disabling of the service': {
    change: (scene) => setServiceDisabled(scene, true),
    outcome: refusedOutcome('unknown_service'),
  },
  'the disabling and the enabling of the service': {
    async change(scene) {
      await setServiceDisabled(scene, true);
      await setServiceDisabled(scene, false);
    },
    outcome: sentOutcome(),
  },
  "a new service of the user with the name of the org's service": {
    tier: 'org',
    change: async ({ admin, name, secret, other }) =>
      successfulBodyOf(
        await admin.post('/v1/services', {
          template: name,
          tier: 'user',
          base_url: other.url,
          credentials: { secrets: { token: `org/${secret}` } },
        }),
      ),
    outcome: sentOutcome(),
  },
};
