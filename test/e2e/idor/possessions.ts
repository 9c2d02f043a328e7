import { randomBytes, randomUUID } from 'node:crypto';

import type { RouteName } from '#contracts/all';
import { withKey } from '../../support/http.ts';
import { templateDocument } from '../support/template.ts';
import type { Query } from '../support/database.ts';
import type { Person } from '../support/people.ts';
import { created, until } from '../support/world.ts';
import type { World } from '../support/world.ts';

/** One id of every kind that a path can hold. */
export interface Possessions {
  readonly identity: string;
  readonly key: string;
  readonly client: string;
  readonly secret: string;
  /** The token of a link on which a secret is entered. */
  readonly provide: string;
  readonly connection: string;
  readonly service: string;
  /** Of an MCP server; a name, and no id. */
  readonly tool: string;
  readonly template: string;
  readonly upload: string;
  readonly file: string;
  readonly approval: string;
  /** A record of the audit log. */
  readonly record: string;
  readonly rule: string;
  readonly webhook: string;
  readonly delivery: string;
  readonly user: string;
  readonly session: string;
  readonly provider: string;
}
export type Kind = keyof Possessions;

const serviceName = () => `svc_${randomBytes(8).toString('hex')}`;
const templateKey = () => `tpl_${randomBytes(8).toString('hex')}`;

/** Ids like those of real things, of nothing. */
export function nothings(): Possessions {
  return {
    identity: randomUUID(),
    key: randomUUID(),
    client: randomUUID(),
    secret: randomUUID(),
    provide: randomBytes(32).toString('base64url'),
    connection: randomUUID(),
    service: serviceName(),
    tool: serviceName(),
    template: templateKey(),
    upload: randomUUID(),
    file: randomUUID(),
    approval: randomUUID(),
    record: randomUUID(),
    rule: randomUUID(),
    webhook: randomUUID(),
    delivery: randomUUID(),
    user: randomUUID(),
    session: randomUUID(),
    provider: serviceName(),
  };
}

/** What `possess` needs to be set: a provider at which connections can be asked for. */
export const possessionSettings = {
  OAUTH_GITHUB_CLIENT_ID: 'gateway',
  OAUTH_GITHUB_CLIENT_SECRET: 'CANARY-github-app',
};

/** Gives a user one of each; the agent of the result has a key. */
export async function possess({ url, upstream, tables }: World, owner: Person) {
  const agent = created(await owner.post('/v1/identities/agents', { name: 'worker' }));
  const keys = `/v1/identities/${agent.id}/keys`;
  const { key: agentKey } = created(await owner.post(keys, { name: 'used' }));
  const key = created(await owner.post(keys, { name: 'spare' }));
  const secret = created(
    await owner.post('/v1/secrets', { name: 'sendgrid_api_key', value: 'CANARY-idor' }),
  );
  const wanted = created(await owner.post('/v1/secrets/requests', { name: 'asked_for' }));
  const connection = created(await owner.post('/v1/connections', { provider: 'github' }));
  const service = created(
    await owner.post('/v1/services', { template: 'sendgrid', name: serviceName(), tier: 'user' }),
  );
  const template = created(
    await owner.post('/v1/templates', { openapi: templateDocument(templateKey()) }),
  );
  const upload = created(await owner.post('/v1/templates/uploads', { text: 'openapi: 3.1.0' }));
  const rule = created(
    await owner.post('/v1/rules', {
      identity_id: agent.id,
      effect: 'deny',
      pattern: 'http:DELETE:example.com/**',
    }),
  );
  const webhook = created(await owner.post('/v1/webhooks', { url: `${upstream.url}/hook` }));
  const call = { service: 'http', method: 'POST', url: `${upstream.url}/waits` };
  const raised = created(await withKey(url, agentKey).post('/v1/actions/call', call));
  let records: { id: string }[] = [];
  await until(async () => {
    records = created(await owner.get(`/v1/audit?approval_id=${raised.approval_id}`)).items;
    return records.length > 0;
  }, 'a record of the approval');
  let deliveries: { id: string }[] = [];
  await until(async () => {
    const path = `/v1/webhooks/${webhook.id}/deliveries`;
    deliveries = created(await owner.get(path)).items;
    return deliveries.length > 0;
  }, 'a delivery');

  const ids: Possessions = {
    identity: agent.id,
    key: key.id,
    client: await bindClient(tables.query, owner, agent.id),
    secret: secret.id,
    provide: new URL(wanted.provide_url).pathname.split('/').at(-1) ?? '',
    connection: connection.id,
    service: service.name,
    tool: serviceName(),
    template: template.key,
    upload: upload.id,
    file: await keepFile(tables.query, owner),
    approval: raised.approval_id,
    record: records[0]?.id ?? '',
    rule: rule.id,
    webhook: webhook.id,
    delivery: deliveries[0]?.id ?? '',
    user: created(await owner.get('/v1/identities/me')).id,
    session: created(await owner.get('/v1/sessions')).items[0].id,
    // Set up by the test where it matters: only admins have any.
    provider: serviceName(),
  };
  return { ids, agentKey: agentKey as string };
}

/** An OAuth client as its user's consent would have bound it. */
async function bindClient(query: Query, { orgId, id }: Person, agentId: string): Promise<string> {
  const clientId = randomUUID();
  await query(
    `insert into auth.oauth_client (id, kind, name, redirect_uris)
     values ($1, 'registered', 'Editor', '{https://editor.example/cb}')`,
    [clientId],
  );
  await query(
    `insert into auth.oauth_binding (org_id, user_id, client_id, agent_id) values ($1, $2, $3, $4)`,
    [orgId, id, clientId, agentId],
  );
  return clientId;
}

/** A number, which tells nobody anything: the same in every request. */
export const versionParameter = '{version}';
/** A file as the executor would have kept it; its bytes are nobody's concern here. */
async function keepFile(query: Query, { orgId, id }: Person): Promise<string> {
  const fileId = randomUUID();
  await query(
    `insert into executor.file (id, org_id, audience, chunks_id, name, content_type, size, sha256, expires_at)
     values ($1, $2, $3, 'none', 'theirs.png', 'image/png', 1, '0', now() + interval '1 hour')`,
    [fileId, orgId, [id]],
  );
  return fileId;
}

/** Which kind of id stands where in a path; a route that is not understood here fails its test. */
export function kindsIn(path: string): { readonly param: string; readonly kind: Kind }[] {
  const kinds: Readonly<Record<string, Kind>> = {
    'identities/{id}': 'identity',
    'keys/{key_id}': 'key',
    'clients/{id}': 'client',
    'mcp-connections/{client_id}': 'client',
    'secrets/{id}': 'secret',
    'provide/{token}': 'provide',
    'connections/{id}': 'connection',
    'oauth-apps/{provider}': 'provider',
    'services/{name}': 'service',
    'tools/{tool}': 'tool',
    'templates/{key}': 'template',
    'uploads/{id}': 'upload',
    'files/{id}': 'file',
    'approvals/{id}': 'approval',
    'audit/{id}': 'record',
    'rules/{id}': 'rule',
    'webhooks/{id}': 'webhook',
    'deliveries/{delivery_id}': 'delivery',
    'users/{id}': 'user',
    'sessions/{id}': 'session',
    'sign-in-providers/{key}': 'provider',
  };
  return [...path.matchAll(/([\w-]+)\/(\{\w+\})/g)]
    .filter(([place]) => place !== `versions/${versionParameter}`)
    .map(([place, , param = '']) => {
      const kind = kinds[place];
      if (kind === undefined) throw new Error(`say what ${place} of ${path} names`);
      return { param, kind };
    });
}

/** A valid body for each route that needs one: only the id may be what is wrong. */
export const bodies: Partial<Record<RouteName, unknown>> = {
  updateSecret: { description: 'An intruder was here.' },
  provideSecret: { value: 'CANARY-intruder', allowed_hosts: [] },
  createAgentKey: { name: 'intruder' },
  updateIdentity: { name: 'intruder' },
  updateMcpConnection: { self_approve_enabled: true },
  resolveApproval: { resolution: 'deny', reason: 'An intruder was here.' },
  updateService: { auto_allow_reads: false },
  upgradeService: {},
  acceptServiceTool: { hash: '0'.repeat(64) },
  updateTemplate: { openapi: templateDocument('intruder'), version: 1 },
  publishTemplate: { version: 1 },
  continueUpload: { text: 'x', offset: 14 },
  changeUser: { role: 'auditor' },
  putOauthApp: { client_id: 'evil', client_secret: 'CANARY-evil' },
  putSignInProvider: { name: 'Evil', issuer: 'https://127.0.0.1:1', client_id: 'evil' },
};
