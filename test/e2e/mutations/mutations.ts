import { approved, valueOf } from './stage.ts';
import type { Outcome, Scene, Setting } from './stage.ts';
import { created, until } from '../support/world.ts';

interface Mutation extends Setting {
  readonly change: (scene: Scene) => Promise<unknown>;
  readonly outcome: Outcome;
}

const sent = (version = 1): Outcome => ({
  ...{ told: 'called', ended: 'executed', sent: [approved(version)] },
});
const refused = (error: string): Outcome => ({ told: error, ended: error, sent: [] });
const stale = (changed: string): Outcome => ({ ...refused('approval_stale'), changed });

const templatePath = ({ name }: Scene) => `/v1/templates/${name}`;
const servicePath = ({ name }: Scene) => `/v1/services/${name}`;
const gone = async ({ admin }: Scene, path: string) => {
  const { status, body } = await admin.delete(path);
  if (status !== 204) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
};
const upgrade = async (scene: Scene, body: object = {}) =>
  created(await scene.admin.post(`${servicePath(scene)}/upgrade`, body));
const updateService = async (scene: Scene, body: object, path = servicePath(scene)) =>
  created(await scene.admin.patch(path, body));
const store = async ({ admin, secret }: Scene, fields: object) =>
  created(await admin.post('/v1/secrets', { name: secret, ...fields }));
const changeRequester = async ({ admin, requester }: Scene, body: object) =>
  created(await admin.patch(`/v1/identities/${requester.id}`, body));

/** Another address under the same operation, which the request would have to be built from. */
const otherPath = (document: string) => document.replaceAll('/notes:', '/elsewhere:');
const otherServer = ({ document, host, other }: Scene) => document.replace(host, other.host);
const disabledAction = (document: string) =>
  document.replace('operationId: create_note', 'operationId: create_note\n      disabled: true');

/** Everything that may change between allow and replay, and what becomes of the call then. */
export const mutations: Record<string, Mutation> = {
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
      await scene.publish(disabledAction(scene.document));
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
    change: (scene) => gone(scene, servicePath(scene)),
    outcome: refused('unknown_service'),
  },
  'the service deleted and made anew, the same': {
    async change(scene) {
      await gone(scene, servicePath(scene));
      await scene.connect();
    },
    outcome: stale('service'),
  },
  'the service made anew at another base URL': {
    async change(scene) {
      await gone(scene, servicePath(scene));
      await scene.connect({ base_url: scene.other.url });
    },
    outcome: stale('service'),
  },
  'the service made anew at another base URL, of a call by method and path': {
    call: 'verb',
    async change(scene) {
      await gone(scene, servicePath(scene));
      await scene.connect({ base_url: scene.other.url });
    },
    outcome: stale('service'),
  },
  'the service made anew with another server variable': {
    hasSite: true,
    async change(scene) {
      await gone(scene, servicePath(scene));
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
      await gone(scene, servicePath(scene));
      await scene.connect({ name: `${scene.name}-renamed` });
    },
    outcome: refused('unknown_service'),
  },
  'the service disabled': {
    change: (scene) => updateService(scene, { disabled: true }),
    outcome: refused('unknown_service'),
  },
  'the service disabled and enabled again': {
    async change(scene) {
      await updateService(scene, { disabled: true });
      await updateService(scene, { disabled: false });
    },
    outcome: sent(),
  },
  "a service of the user's in the place of the org's": {
    tier: 'org',
    change: async ({ admin, name, secret, other }) =>
      created(
        await admin.post('/v1/services', {
          ...{ template: name, tier: 'user', base_url: other.url },
          credentials: { secrets: { token: `org/${secret}` } },
        }),
      ),
    outcome: sent(),
  },

  'the secret rotated': {
    change: (scene) => store(scene, { value: valueOf(scene.name, 2) }),
    outcome: sent(2),
  },
  'the secret of a raw call rotated': {
    call: 'raw',
    change: (scene) => store(scene, { value: valueOf(scene.name, 2) }),
    outcome: sent(2),
  },
  'another secret in the service': {
    async change(scene) {
      const name = `${scene.secret}_2`;
      await store(scene, { name, value: valueOf(scene.name, 2), allowed_hosts: [scene.host] });
      await updateService(scene, { credentials: { secrets: { token: name } } });
    },
    outcome: stale('credential'),
  },
  'the secret deleted': {
    change: (scene) => gone(scene, `/v1/secrets/${scene.secretId}`),
    outcome: refused('credential_missing'),
  },
  'the secret deleted and made anew': {
    async change(scene) {
      await gone(scene, `/v1/secrets/${scene.secretId}`);
      await store(scene, { value: valueOf(scene.name, 1), allowed_hosts: [scene.host] });
    },
    outcome: stale('credential'),
  },
  'the secret of a raw call deleted and made anew': {
    call: 'raw',
    async change(scene) {
      await gone(scene, `/v1/secrets/${scene.secretId}`);
      await store(scene, { value: valueOf(scene.name, 1), allowed_hosts: [scene.host] });
    },
    outcome: stale('credential'),
  },
  'the secret kept to other hosts': {
    change: (scene) =>
      store(scene, { value: valueOf(scene.name, 2), allowed_hosts: [scene.other.host] }),
    outcome: stale('credential'),
  },
  "a secret of the user's in the place of the org's, of a raw call": {
    ...{ call: 'raw', tier: 'org' },
    change: (scene) => store(scene, { value: valueOf(scene.name, 2), allowed_hosts: [scene.host] }),
    outcome: stale('credential'),
  },
  "a secret of the user's in the place of the org's": {
    tier: 'org',
    change: (scene) => store(scene, { value: valueOf(scene.name, 2), allowed_hosts: [scene.host] }),
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
      await gone(scene, `/v1/rules/${id}`);
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
    change: (scene) => gone(scene, `/v1/rules/${scene.grantedRuleId}`),
    outcome: stale('permission'),
  },

  'the requester archived': {
    async change({ admin, requester }) {
      created(await admin.post(`/v1/identities/${requester.id}/archive`));
    },
    outcome: { ...refused('identity_archived'), told: 'identity_archived' },
  },
  'the requester archived and restored': {
    async change({ admin, requester }) {
      created(await admin.post(`/v1/identities/${requester.id}/archive`));
      created(await admin.post(`/v1/identities/${requester.id}/restore`));
    },
    outcome: sent(),
  },
  'the requester revoked': {
    async change({ admin, requester }) {
      created(await admin.post(`/v1/identities/${requester.id}/revoke`));
    },
    outcome: { ...refused('identity_archived'), told: 'unauthenticated' },
  },
  'the requester at its end': {
    async change(scene) {
      const end = new Date(Date.now() + 1_000).toISOString();
      await changeRequester(scene, { expires_at: end });
      const { requester } = scene;
      await until(async () => (await requester.get('/v1/identities/me')).status !== 200, 'its end');
    },
    outcome: { ...refused('identity_archived'), told: 'unauthenticated' },
  },
  'the requester under another name': {
    change: (scene) => changeRequester(scene, { name: `${scene.name}-renamed` }),
    outcome: sent(),
  },
  'the agent above that allowed it archived': {
    isByParent: true,
    async change({ admin, parent }) {
      created(await admin.post(`/v1/identities/${parent.id}/archive`));
    },
    outcome: { ...refused('identity_archived'), told: 'identity_archived' },
  },
  'the rule gone by which the agent above allowed it': {
    isByParent: true,
    async change(scene) {
      const { admin, parent } = scene;
      const { items } = created(await admin.get(`/v1/rules?identity_id=${parent.id}`));
      for (const { id } of items) await gone(scene, `/v1/rules/${id}`);
    },
    outcome: stale('resolver'),
  },
};
