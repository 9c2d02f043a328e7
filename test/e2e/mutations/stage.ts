import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { withKey } from '../../support/http.ts';
import type { Caller, Reply } from '../../support/http.ts';
import { openProvider } from '../support/account.ts';
import type { Account, Provider } from '../support/account.ts';
import { templateDocument } from '../support/template.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Hit, Upstream } from '../support/upstream.ts';
import { createAgent, created, startWorld, until } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

export interface Setting {
  /** By the name of an action, by method and path of the service, or raw with a credential. */
  readonly call?: 'action' | 'verb' | 'raw';
  /** An account at a provider in the place of the secret. */
  readonly isByAccount?: boolean;
  /** Whose template, service and secret it is; `global` is a built-in template, the rest the user's. */
  readonly tier?: 'user' | 'org' | 'global';
  /** Its server has a variable `site`, which is `a`, and nobody answers there. */
  readonly hasSite?: boolean;
  /** A subagent asks, and the agent above it allows what it may do itself. */
  readonly isByParent?: boolean;
  /** What a rule allows the requester beforehand, so that nobody is asked about it. */
  readonly granted?: (scene: Pick<Scene, 'secret' | 'host'>) => string;
}

/** How a replay ended. */
export interface Outcome {
  /** What the requester was told: `called`, `denied` or an error. */
  readonly told: string;
  /** Of `approval_stale`. */
  readonly changed?: string;
  /** What stands on the execution: `executed`, or why not. */
  readonly ended: string;
  /** What arrived at any upstream. */
  readonly sent: readonly string[];
}

/** One call, approved, before its replay; with names and people of its own. */
export interface Scene {
  /** Of the service and of its template. */
  readonly name: string;
  readonly secret: string;
  readonly secretId: string;
  /** With the secret's name, where it stands in its place. */
  readonly account: Account;
  /** Another account, by that name or another. */
  readonly connectAccount: (as?: string) => Promise<Account>;
  readonly host: string;
  /** The owner of everything, an admin. */
  readonly admin: Caller;
  readonly requester: Agent;
  /** Above the requester; the requester itself where nobody is. */
  readonly parent: Agent;
  readonly grantedRuleId: string;
  readonly approvalId: string;
  /** Where nothing may arrive. */
  readonly other: Upstream;
  readonly document: string;
  /** Saves and publishes the next version of the template; for a built-in one, writes the file. */
  publish(openapi: string): Promise<void>;
  connect(more?: object): Promise<void>;
  readonly rule: (
    effect: 'allow' | 'deny',
    pattern: string,
    more?: object,
  ) => Promise<{ id: string }>;
  /** The requester asks for it, and then its user; at most one of them has it sent. */
  replay(): Promise<Outcome>;
  /** Makes room: an org has a hundred services at most. */
  leave(): Promise<void>;
}

export interface Stage extends AsyncDisposable {
  suspend(setting: Setting): Promise<Scene>;
}

/** The whole product, two upstreams, and a folder of built-in templates that can be written. */
export async function openStage(): Promise<Stage> {
  await using startup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-mutations-'));
  startup.defer(() => rm(folder, { recursive: true, force: true }));
  const other = startup.use(await startUpstream());
  const settings = { EGRESS_ALLOW: '127.0.0.1/32', TEMPLATES_DIR: folder };
  const world = startup.use(await startWorld(settings));
  const provider = startup.use(await openProvider(world.admin));
  let made = 0;
  const running = startup.move();
  return {
    async suspend(setting) {
      const name = `notes-${(made += 1)}`;
      // Deny rules reach every service of a host, so each scene has a host of its own.
      const upstream = running.use(await startUpstream());
      return suspend({ world, upstream, other, folder, provider }, name, setting);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface Place {
  readonly world: World;
  readonly upstream: Upstream;
  readonly other: Upstream;
  readonly folder: string;
  readonly provider: Provider;
}

async function suspend(place: Place, name: string, setting: Setting): Promise<Scene> {
  const { world, upstream, other } = place;
  const { admin } = world;
  const { host } = upstream;
  const secret = `${name}_token`;
  const tier = setting.tier === 'org' ? 'org' : 'user';
  const { isByAccount = false, hasSite = false } = setting;
  const document = documentFor(name, { address: hasSite ? undefined : upstream.url, isByAccount });
  const publish = createPublisher(place, { ...setting, name });
  const connect = async (more: object = {}) =>
    void created(await admin.post('/v1/services', { template: name, tier, ...more }));
  const allowed_hosts = [host, other.host, `a.${name}.test`, `b.${name}.test`];
  const { id: secretId } = created(
    await admin.post('/v1/secrets', { name: secret, tier, value: valueOf(name, 1), allowed_hosts }),
  );
  const connectAccount = (as = secret) =>
    place.provider.connect({
      name: as,
      owner: admin,
      token: valueOf(name, 1),
      scopes: ['notes'],
    });
  const account = isByAccount ? await connectAccount() : nobodys;
  await publish(document);
  await connect(isByAccount ? { credentials: { connection: secret } } : {});

  const { requester, parent } = await createRequester(world, name, setting);
  const rule: Scene['rule'] = async (effect, pattern, more) =>
    created(await admin.post('/v1/rules', { identity_id: requester.id, effect, pattern, ...more }));
  const granted = setting.granted?.({ secret, host });
  const grantedRuleId = granted === undefined ? '' : (await rule('allow', granted)).id;
  if (setting.isByParent) await rule('allow', `${name}:*:*`, { identity_id: parent.id });

  const { path, call } = callOf(name, { ...setting, secret, url: upstream.url });
  // As the user sends it, who needs nobody: these are the bytes.
  if (!hasSite) created(await admin.post(path, call));
  const { approval_id: approvalId } = created(await requester.post(path, call));
  const decider = setting.isByParent ? parent : admin;
  created(await decider.post(`/v1/approvals/${approvalId}/resolve`, { resolution: 'allow' }));
  const before = upstream.hits.length;

  return {
    name,
    secret,
    secretId,
    host,
    admin,
    requester,
    parent,
    grantedRuleId,
    approvalId,
    other,
    document,
    publish,
    connect,
    rule,
    account,
    connectAccount,
    async replay() {
      const told = await requester.post('/v1/actions/call', { approval_id: approvalId });
      await admin.post(`/v1/approvals/${approvalId}/call`);
      const { execution } = created(await admin.get(`/v1/approvals/${approvalId}`));
      const strayed = other.hits.filter(({ body }) => body.includes(`"${name}"`));
      const arrived = [...upstream.hits.slice(before), ...strayed];
      return {
        ...answerOf(told),
        ended: execution.error?.error ?? execution.status,
        sent: arrived.map((hit) => describeHit(hit, upstream.hits[0] ?? hit, name)),
      };
    },
    async leave() {
      // Its mutation may have been to disconnect it, or to connect another beside it.
      await admin.delete(`/v1/services/${name}`);
      await admin.delete(`/v1/services/org%2F${name}`);
    },
  };
}

/** The example template, with a credential of its own; without an address, at one that has a variable. */
function documentFor(
  name: string,
  { address, isByAccount }: { address: string | undefined; isByAccount: boolean },
): string {
  const example = 'https://api.example.com';
  const server =
    address === undefined
      ? `url: 'https://{site}.${name}.test', variables: { site: { default: a } }`
      : `url: '${address}', base_url_allowed: true`;
  const written = templateDocument(name, example);
  const taking = isByAccount
    ? written
        .replace(/token: \{ type: http.*/, oauthScheme)
        .replace('summary: Write', 'security: [{ token: [notes] }]\n      summary: Write')
    : written.replace('notes_token', `${name}_token`);
  return taking.replace(`url: '${example}'`, server);
}

const madeWithSecret = new Error('the call is made with a secret');
const nobodys: Account = {
  id: '',
  name: '',
  grants: () => undefined,
  regrant: () => Promise.reject(madeWithSecret),
  refresh: () => Promise.reject(madeWithSecret),
  lose: () => Promise.reject(madeWithSecret),
};

const oauthScheme = `token:
      type: oauth2
      provider: acme
      flows:
        authorizationCode:
          authorizationUrl: https://acme.example/authorize
          tokenUrl: https://acme.example/token
          scopes: { notes: Write notes }`;

/** Of an agent of the admin's, or of one below it; its calls wait for it when they are allowed. */
async function createRequester({ url, admin }: World, name: string, { isByParent }: Setting) {
  const agent = await createAgent(url, admin, `${name}-agent`);
  let requester = agent;
  if (isByParent) {
    const child = { name: 'child', parent_id: agent.id };
    const { id } = created(await admin.post('/v1/identities/subagents', child));
    const { key } = created(await admin.post(`/v1/identities/${id}/keys`, { name: 'test' }));
    requester = { id, key, ...withKey(url, key) };
  }
  created(await admin.patch(`/v1/identities/${requester.id}`, { auto_call_on_approve: false }));
  return { requester, parent: agent };
}

function createPublisher(
  { world, folder }: Place,
  { name, tier = 'user' }: Setting & { name: string },
): Scene['publish'] {
  const { admin } = world;
  let version = 0;
  return async (openapi) => {
    version += 1;
    const path = `/v1/templates/${name}`;
    if (tier === 'global') {
      await writeFile(join(folder, `${name}.yaml`), openapi);
      await world.recordTemplates();
      const isRead = async () => (await admin.get(`${path}?tier=global`)).body.version === version;
      return until(isRead, 'the folder to be read again');
    }
    const edited = { openapi, version: version - 1 };
    if (version === 1) created(await admin.post('/v1/templates', { openapi, tier }));
    else created(await admin.put(`${path}?tier=${tier}`, edited));
    created(await admin.post(`${path}/publish?tier=${tier}`, { version }));
  };
}

function callOf(
  name: string,
  { call = 'action', isByAccount, secret, url }: Setting & { secret: string; url: string },
): { path: string; call: object } {
  const written = { method: 'POST', body: { title: name } };
  const secrets = [{ name: secret, in: 'header', key: 'authorization', prefix: 'Bearer ' }];
  const path = '/v1/actions/call';
  if (call === 'raw') {
    const raw = { url: `${url}/notes`, ...written };
    return isByAccount
      ? { path: '/v1/actions/http', call: { connection: secret, ...raw } }
      : { path, call: { service: 'http', ...raw, secrets } };
  }
  if (call === 'verb') return { path, call: { service: name, path: '/notes', ...written } };
  return { path, call: { service: name, action: 'create_note', params: { title: name } } };
}

export const valueOf = (name: string, version: number | string): string =>
  `CANARY-${name}-v${version}`;

export const approved = (version: number): string => `what was approved, with v${version}`;

/** Credentials are put in at the replay, and traces differ from one request to the next. */
function describeHit(hit: Hit, reference: Hit, name: string): string {
  const bytesOf = ({ headers, ...rest }: Hit) => {
    const { authorization: _, traceparent: __, tracestate: ___, ...sent } = headers;
    return JSON.stringify({ ...rest, headers: sent });
  };
  const version = hit.headers.authorization?.replace(`Bearer ${valueOf(name, '')}`, '');
  if (bytesOf(hit) !== bytesOf(reference)) return JSON.stringify(hit);
  return approved(Number(version));
}

function answerOf({ body }: Reply): Pick<Outcome, 'told' | 'changed'> {
  const { error, status, changed } = body;
  return { told: error ?? status, ...(changed !== undefined && { changed }) };
}
