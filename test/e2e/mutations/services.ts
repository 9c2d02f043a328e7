import { created } from '../support/world.ts';
import { refused, remove, sent, servicePath, stale } from './mutation.ts';
import type { Mutation } from './mutation.ts';
import type { Scene } from './stage.ts';

const templatePath = ({ name }: Scene) => `/v1/templates/${name}`;
const upgrade = async (scene: Scene, body: object = {}) =>
  created(await scene.admin.post(`${servicePath(scene)}/upgrade`, body));
const switchService = async (scene: Scene, disabled: boolean) =>
  created(await scene.admin.patch(servicePath(scene), { disabled }));

/** Another address under the same operation, of which other bytes would be made. */
const otherPath = (document: string) => document.replaceAll('/notes:', '/elsewhere:');
const otherServer = ({ document, host, other }: Scene) => document.replace(host, other.host);
const withoutAction = (document: string) =>
  document.replace('operationId: create_note', 'operationId: create_note\n      disabled: true');

/** What the call is: its parameters, the template they are for, the service they go to. */
export const mutationsOfServices: Record<string, Mutation> = {
  nothing: { change: async () => undefined, outcome: sent() },
  'nothing, of a call by method and path': {
    call: 'verb',
    change: async () => undefined,
    outcome: sent(),
  },
  'nothing, of a raw call': { call: 'raw', change: async () => undefined, outcome: sent() },

  'other parameters, which a resume does not take': {
    async change({ requester, admin, approvalId, name }) {
      const others = [{ params: { title: 'x' } }, { service: name }, { body: {} }, { filter: '.' }];
      for (const other of others) {
        const body = { approval_id: approvalId, ...other };
        const { status } = await requester.post('/v1/actions/call', body);
        if (status !== 400) throw new Error(`a resume took ${JSON.stringify(other)}`);
        const run = await admin.post(`/v1/approvals/${approvalId}/call`, other);
        if (run.status !== 400) throw new Error(`a run took ${JSON.stringify(other)}`);
      }
    },
    outcome: sent(),
  },

  'a new version of the template, which the service does not use': {
    change: (scene) => scene.publish(otherPath(scene.document)),
    outcome: sent(),
  },
  'a new version of the template, with the service upgraded to it': {
    async change(scene) {
      await scene.publish(otherPath(scene.document));
      await upgrade(scene);
    },
    outcome: stale('template'),
  },
  'a new version of the template that is word for word the same, upgraded': {
    async change(scene) {
      await scene.publish(`${scene.document}\n`);
      await upgrade(scene);
    },
    outcome: stale('template'),
  },
  'a new version on another host, upgraded with the secret named for it': {
    async change(scene) {
      await scene.publish(otherServer(scene));
      await upgrade(scene, { credentials: { secrets: { token: scene.secret } } });
    },
    outcome: stale('template'),
  },
  'the action disabled in a new version, upgraded': {
    async change(scene) {
      await scene.publish(withoutAction(scene.document));
      await upgrade(scene);
    },
    outcome: stale('template'),
  },
  'the template disabled': {
    change: async (scene) => created(await scene.admin.post(`${templatePath(scene)}/disable`)),
    outcome: refused('unknown_service'),
  },
  'the template disabled and enabled again': {
    async change(scene) {
      created(await scene.admin.post(`${templatePath(scene)}/disable`));
      created(await scene.admin.post(`${templatePath(scene)}/enable`));
    },
    outcome: sent(),
  },
  'the file of a built-in template changed': {
    tier: 'global',
    change: (scene) => scene.publish(otherPath(scene.document)),
    outcome: sent(),
  },
  'the file of a built-in template changed, with the service upgraded to it': {
    tier: 'global',
    async change(scene) {
      await scene.publish(otherPath(scene.document));
      await upgrade(scene);
    },
    outcome: stale('template'),
  },
  "a template of the user's in the place of a built-in one": {
    tier: 'global',
    async change(scene) {
      const { admin, document } = scene;
      const openapi = otherPath(document);
      created(await admin.post('/v1/templates', { openapi }));
      created(await admin.post(`${templatePath(scene)}/publish`, { version: 1 }));
    },
    outcome: sent(),
  },

  'the service deleted': {
    change: (scene) => remove(scene, servicePath(scene)),
    outcome: refused('unknown_service'),
  },
  'the service deleted and made anew, the same': {
    async change(scene) {
      await remove(scene, servicePath(scene));
      await scene.connect();
    },
    outcome: stale('service'),
  },
  'the service made anew at another base URL': {
    async change(scene) {
      await remove(scene, servicePath(scene));
      await scene.connect({ base_url: scene.other.url });
    },
    outcome: stale('service'),
  },
  'the service made anew at another base URL, of a call by method and path': {
    call: 'verb',
    async change(scene) {
      await remove(scene, servicePath(scene));
      await scene.connect({ base_url: scene.other.url });
    },
    outcome: stale('service'),
  },
  'the service made anew with another server variable': {
    hasSite: true,
    async change(scene) {
      await remove(scene, servicePath(scene));
      await scene.connect({ variables: { site: 'b' } });
    },
    outcome: stale('service'),
  },
  'a new version of the template, upgraded with another server variable': {
    hasSite: true,
    async change(scene) {
      await scene.publish(otherPath(scene.document));
      await upgrade(scene, { variables: { site: 'b' } });
    },
    outcome: stale('template'),
  },
  'the service under another name': {
    async change(scene) {
      await remove(scene, servicePath(scene));
      await scene.connect({ name: `${scene.name}-renamed` });
    },
    outcome: refused('unknown_service'),
  },
  'the service disabled': {
    change: (scene) => switchService(scene, true),
    outcome: refused('unknown_service'),
  },
  'the service disabled and enabled again': {
    async change(scene) {
      await switchService(scene, true);
      await switchService(scene, false);
    },
    outcome: sent(),
  },
  "a service of the user's in the place of the org's": {
    tier: 'org',
    change: async ({ admin, name, secret, other }) =>
      created(
        await admin.post('/v1/services', {
          template: name,
          tier: 'user',
          base_url: other.url,
          credentials: { secrets: { token: `org/${secret}` } },
        }),
      ),
    outcome: sent(),
  },
};
