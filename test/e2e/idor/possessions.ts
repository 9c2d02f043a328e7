import { randomBytes, randomUUID } from 'node:crypto';

import type { RouteName } from '#contracts/all';
import { createCallerWithKey } from '../../support/http.ts';
import { templateDocument } from '../../support/template.ts';
import type { Query } from '../../support/database.ts';
import type { Person } from '../../support/people.ts';
import { successfulBodyOf, pollUntil } from '../../support/world.ts';
import type { World } from '../../support/world.ts';

/** The ids of one resource of each kind that a path can name. */
export interface Possessions {
  readonly identity: string;
  readonly key: string;
  readonly client: string;
  readonly secret: string;
  /** The token of a link on which a person enters a secret. */
  readonly provide: string;
  readonly connection: string;
  /** A request for a service. */
  readonly request: string;
  readonly service: string;
  /** The name of a tool of an MCP server; tools have no id. */
  readonly tool: string;
  readonly template: string;
  readonly upload: string;
  readonly file: string;
  readonly approval: string;
  /** The id of an audit record. */
  readonly record: string;
  readonly rule: string;
  readonly webhook: string;
  readonly delivery: string;
  readonly user: string;
  readonly session: string;
  readonly provider: string;
}
export type Kind = keyof Possessions;

const createServiceName = () => `svc_${randomBytes(8).toString('hex')}`;
const createTemplateKey = () => `tpl_${randomBytes(8).toString('hex')}`;

/** Well-formed ids of resources that do not exist. */
export function createMissingIds(): Possessions {
  return {
    identity: randomUUID(),
    key: randomUUID(),
    client: randomUUID(),
    secret: randomUUID(),
    provide: randomBytes(32).toString('base64url'),
    connection: randomUUID(),
    request: randomUUID(),
    service: createServiceName(),
    tool: createServiceName(),
    template: createTemplateKey(),
    upload: randomUUID(),
    file: randomUUID(),
    approval: randomUUID(),
    record: randomUUID(),
    rule: randomUUID(),
    webhook: randomUUID(),
    delivery: randomUUID(),
    user: randomUUID(),
    session: randomUUID(),
    provider: createServiceName(),
  };
}

/**
 * The settings of a gateway for `createPossessions`: an OAuth provider at which connections can be
 * created.
 */
export const possessionSettings = {
  OAUTH_GITHUB_CLIENT_ID: 'gateway',
  OAUTH_GITHUB_CLIENT_SECRET: 'CANARY-github-app',
};

/** Creates one resource of each kind for a user. The created agent has a key. */
export async function createPossessions({ url, upstream, tables }: World, owner: Person) {
  const agent = successfulBodyOf(await owner.post('/v1/identities/agents', { name: 'worker' }));
  const keys = `/v1/identities/${agent.id}/keys`;
  const { key: agentKey } = successfulBodyOf(await owner.post(keys, { name: 'used' }));
  const key = successfulBodyOf(await owner.post(keys, { name: 'spare' }));
  const secret = successfulBodyOf(
    await owner.post('/v1/secrets', { name: 'sendgrid_api_key', value: 'CANARY-idor' }),
  );
  const secretRequest = successfulBodyOf(
    await owner.post('/v1/secrets/requests', { name: 'asked_for' }),
  );
  const connection = successfulBodyOf(await owner.post('/v1/connections', { provider: 'github' }));
  const request = successfulBodyOf(
    await owner.post('/v1/requests', { kind: 'service', template: 'github' }),
  );
  const service = successfulBodyOf(
    await owner.post('/v1/services', {
      template: 'sendgrid',
      name: createServiceName(),
      tier: 'user',
    }),
  );
  const template = successfulBodyOf(
    await owner.post('/v1/templates', { openapi: templateDocument(createTemplateKey()) }),
  );
  const upload = successfulBodyOf(
    await owner.post('/v1/templates/uploads', { text: 'openapi: 3.1.0' }),
  );
  const rule = successfulBodyOf(
    await owner.post('/v1/rules', {
      identity_id: agent.id,
      effect: 'deny',
      pattern: 'http:DELETE:example.com/**',
    }),
  );
  const webhook = successfulBodyOf(
    await owner.post('/v1/webhooks', { url: `${upstream.url}/hook` }),
  );
  const call = { service: 'http', method: 'POST', url: `${upstream.url}/waits` };
  const raisedApproval = successfulBodyOf(
    await createCallerWithKey(url, agentKey).post('/v1/actions/call', call),
  );
  let records: { id: string }[] = [];
  await pollUntil(async () => {
    records = successfulBodyOf(
      await owner.get(`/v1/audit?approval_id=${raisedApproval.approval_id}`),
    ).items;
    return records.length > 0;
  }, 'a record of the approval');
  let deliveries: { id: string }[] = [];
  await pollUntil(async () => {
    const path = `/v1/webhooks/${webhook.id}/deliveries`;
    deliveries = successfulBodyOf(await owner.get(path)).items;
    return deliveries.length > 0;
  }, 'a delivery');

  const ids: Possessions = {
    identity: agent.id,
    key: key.id,
    client: await insertBoundClient(tables.query, owner, agent.id),
    secret: secret.id,
    provide: new URL(secretRequest.provide_url).pathname.split('/').at(-1) ?? '',
    connection: connection.id,
    request: request.id,
    service: service.name,
    tool: createServiceName(),
    template: template.key,
    upload: upload.id,
    file: await insertFile(tables.query, owner),
    approval: raisedApproval.approval_id,
    record: records[0]?.id ?? '',
    rule: rule.id,
    webhook: webhook.id,
    delivery: deliveries[0]?.id ?? '',
    user: successfulBodyOf(await owner.get('/v1/identities/me')).id,
    session: successfulBodyOf(await owner.get('/v1/sessions')).items[0].id,
    // The name of a sign-in provider that does not exist: only admins have sign-in providers, so
    // the test that needs one creates it.
    provider: createServiceName(),
  };
  return { ids, agentKey: agentKey as string };
}

/** Inserts the rows of an OAuth client that the user has allowed to act as an agent. */
async function insertBoundClient(
  query: Query,
  { orgId, id }: Person,
  agentId: string,
): Promise<string> {
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

/**
 * The parameter for a version number. The number is no secret, so every request uses the same
 * number.
 */
export const versionParameter = '{version}';
/**
 * Inserts the row that the executor stores for a file. The file has no bytes, because no test reads
 * them.
 */
async function insertFile(query: Query, { orgId, id }: Person): Promise<string> {
  const fileId = randomUUID();
  await query(
    `insert into executor.file (id, org_id, audience, chunks_id, name, content_type, size, sha256, expires_at)
     values ($1, $2, $3, 'none', 'theirs.png', 'image/png', 1, '0', now() + interval '1 hour')`,
    [fileId, orgId, [id]],
  );
  return fileId;
}

/**
 * The kind of id that each parameter of a path takes. Throws for an unknown parameter, so that the
 * test of a new route fails until the parameter is added here.
 */
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
    'requests/{id}': 'request',
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

/**
 * A valid body for each route that needs one, so that the gateway can refuse the request only
 * because of its id.
 */
export const bodiesByRoute: Partial<Record<RouteName, unknown>> = {
  updateSecret: { description: 'An intruder was here.' },
  provideSecret: { value: 'CANARY-intruder', allowed_hosts: [] },
  createAgentKey: { name: 'intruder' },
  declineRequest: { reason: 'An intruder was here.' },
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
