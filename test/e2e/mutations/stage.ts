import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createCallerWithKey } from '../../support/http.ts';
import type { Caller, Reply } from '../../support/http.ts';
import { openProvider } from '../../support/account.ts';
import type { Account, Provider } from '../../support/account.ts';
import { templateDocument } from '../../support/template.ts';
import { startUpstream } from '../../support/upstream.ts';
import type { Hit, Upstream } from '../../support/upstream.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../../support/world.ts';
import type { Agent, World } from '../../support/world.ts';

export interface Setting {
  /**
   * The form of the call: by action name (`action`), by HTTP method and path of the service
   * (`verb`), or by full URL with a credential (`raw`).
   */
  readonly call?: 'action' | 'verb' | 'raw';
  /** True if the call's credential is a connected account instead of a secret. */
  readonly isByAccount?: boolean;
  /**
   * The tier of the template, the service and the secret. With `global`, the template is built-in,
   * and the service and the secret belong to the user.
   */
  readonly tier?: 'user' | 'org' | 'global';
  /**
   * True if the server's URL has a variable `site` with the default `a`. No server answers at this
   * URL.
   */
  readonly hasSite?: boolean;
  /**
   * True if a subagent makes the call and its parent agent allows the call. The parent has
   * permission for the same call.
   */
  readonly isByParent?: boolean;
  /**
   * The pattern of an allow rule that the requester has beforehand, so that no person is asked for
   * the permission keys that match the pattern.
   */
  readonly grantedPatternOf?: (scene: Pick<Scene, 'secret' | 'host'>) => string;
}

/** How a replay ended. */
export interface Outcome {
  /** The answer to the requester: `called`, `denied` or an error code. */
  readonly told: string;
  /** The field `changed` of the error `approval_stale`. */
  readonly changed?: string;
  /** The stored result of the execution: `executed`, or the reason why the call was not sent. */
  readonly ended: string;
  /** The requests that arrived at any upstream. */
  readonly sent: readonly string[];
}

/**
 * One call that was allowed but not replayed yet. Its people and resources have names that no other
 * scene uses.
 */
export interface Scene {
  /** The name of the service and of its template. */
  readonly name: string;
  readonly secret: string;
  readonly secretId: string;
  /**
   * The connected account that is used instead of a secret. Its connection has the secret's name.
   */
  readonly account: Account;
  /** Connects a further account, under the same name or another one. */
  readonly connectAccount: (as?: string) => Promise<Account>;
  readonly host: string;
  /** The admin who owns every resource of the scene. */
  readonly admin: Caller;
  readonly requester: Agent;
  /** The requester's parent agent, or the requester itself if it has no parent. */
  readonly parent: Agent;
  readonly grantedRuleId: string;
  readonly approvalId: string;
  /** An upstream at which nothing may arrive. */
  readonly other: Upstream;
  readonly document: string;
  /**
   * Publishes a document as the template's next version. For a built-in template, the document
   * replaces the file.
   */
  publish(openapi: string): Promise<void>;
  connect(more?: object): Promise<void>;
  readonly rule: (
    effect: 'allow' | 'deny',
    pattern: string,
    more?: object,
  ) => Promise<{ id: string }>;
  /**
   * Replays the call: first the requester asks for the replay, and then its user does. The call
   * must be sent at most once.
   */
  replay(): Promise<Outcome>;
  /** Removes the scene's services and template; a user or an org has at most a hundred of each. */
  cleanUp(): Promise<void>;
}

export interface Stage extends AsyncDisposable {
  suspend(setting: Setting): Promise<Scene>;
}

/**
 * Starts all components, two upstreams, and a folder of built-in templates that the tests can
 * change.
 */
export async function openStage(): Promise<Stage> {
  await using startup = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'aag-mutations-'));
  startup.defer(() => rm(folder, { recursive: true, force: true }));
  const other = startup.use(await startUpstream());
  const settings = { EGRESS_ALLOW: '127.0.0.1/32', TEMPLATES_DIR: folder };
  const world = startup.use(await startWorld(settings));
  const provider = startup.use(await openProvider(world.admin));
  let sceneCount = 0;
  const running = startup.move();
  return {
    async suspend(setting) {
      const name = `notes-${(sceneCount += 1)}`;
      // Each scene needs a host of its own, because a deny rule on a service also covers other
      // services on the same host.
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
    void successfulBodyOf(await admin.post('/v1/services', { template: name, tier, ...more }));
  const allowed_hosts = [host, other.host, `a.${name}.test`, `b.${name}.test`];
  const { id: secretId } = successfulBodyOf(
    await admin.post('/v1/secrets', {
      name: secret,
      tier,
      value: secretValueOf(name, 1),
      allowed_hosts,
    }),
  );
  const connectAccount = (as = secret) =>
    place.provider.connect({
      name: as,
      owner: admin,
      token: secretValueOf(name, 1),
      scopes: ['notes'],
    });
  const account = isByAccount ? await connectAccount() : missingAccount;
  await publish(document);
  await connect({
    ...(isByAccount && { credentials: { connection: secret } }),
    ...(hasSite && { variables: { site: 'a' } }),
  });

  const { requester, parent } = await createRequester(world, name, setting);
  const rule: Scene['rule'] = async (effect, pattern, more) =>
    successfulBodyOf(
      await admin.post('/v1/rules', { identity_id: requester.id, effect, pattern, ...more }),
    );
  const granted = setting.grantedPatternOf?.({ secret, host });
  const grantedRuleId = granted === undefined ? '' : (await rule('allow', granted)).id;
  if (setting.isByParent) await rule('allow', `${name}:*:*`, { identity_id: parent.id });

  const { path, call } = callOf(name, { ...setting, secret, url: upstream.url });
  // A user's call needs no approval, so this call is sent at once. The test compares later requests
  // with the bytes of this call.
  if (!hasSite) successfulBodyOf(await admin.post(path, call));
  const { approval_id: approvalId } = successfulBodyOf(await requester.post(path, call));
  const decider = setting.isByParent ? parent : admin;
  successfulBodyOf(
    await decider.post(`/v1/approvals/${approvalId}/resolve`, { resolution: 'allow' }),
  );
  const hitsBefore = upstream.hits.length;

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
      const { execution } = successfulBodyOf(await admin.get(`/v1/approvals/${approvalId}`));
      const strayedHits = other.hits.filter(({ body }) => body.includes(`"${name}"`));
      const arrivedHits = [...upstream.hits.slice(hitsBefore), ...strayedHits];
      return {
        ...answerOf(told),
        ended: execution.error?.error ?? execution.status,
        sent: arrivedHits.map((hit) => describeHit(hit, upstream.hits[0] ?? hit, name)),
      };
    },
    async cleanUp() {
      // The mutation may have disconnected the service already, or connected another service.
      await admin.delete(`/v1/services/${name}`);
      await admin.delete(`/v1/services/org%2F${name}`);
      await admin.delete(`/v1/templates/${name}?tier=${tier}`);
    },
  };
}

/**
 * The example template with its own secret name. Without an address, the URL of its server has the
 * variable `site`.
 */
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
  const credentialScheme = isByAccount
    ? written
        .replace(/token: \{ type: http.*/, oauthScheme)
        .replace('summary: Write', 'security: [{ token: [notes] }]\n      summary: Write')
    : written.replace('notes_token', `${name}_token`);
  return credentialScheme.replace(`url: '${example}'`, server);
}

const madeWithSecret = new Error('the call is made with a secret');
const missingAccount: Account = {
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

/**
 * Creates an agent of the admin, or a subagent of such an agent. The gateway does not replay the
 * agent's calls by itself: the agent asks for the replay after the decision.
 */
async function createRequester({ url, admin }: World, name: string, { isByParent }: Setting) {
  const agent = await createAgent(url, admin, `${name}-agent`);
  let requester = agent;
  if (isByParent) {
    const child = { name: 'child', parent_id: agent.id };
    const { id } = successfulBodyOf(await admin.post('/v1/identities/subagents', child));
    const { key } = successfulBodyOf(
      await admin.post(`/v1/identities/${id}/keys`, { name: 'test' }),
    );
    requester = { id, key, ...createCallerWithKey(url, key) };
  }
  successfulBodyOf(
    await admin.patch(`/v1/identities/${requester.id}`, { auto_call_on_approve: false }),
  );
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
      return pollUntil(isRead, 'the folder to be read again');
    }
    const editedTemplate = { openapi, version: version - 1 };
    const read = async () => (await admin.get(`${path}?tier=${tier}`)).body;
    await changeUntilStored(
      () =>
        version === 1
          ? admin.post('/v1/templates', { openapi, tier })
          : admin.put(`${path}?tier=${tier}`, editedTemplate),
      async () => (await read()).latest_version === version,
    );
    await changeUntilStored(
      () => admin.post(`${path}/publish?tier=${tier}`, { version }),
      async () => (await read()).published_version === version,
    );
  };
}

/**
 * Makes a change, and sends it again while the component is too busy to answer in time. An attempt
 * without an answer may have been stored all the same.
 */
async function changeUntilStored(
  send: () => Promise<Reply>,
  isStored: () => Promise<boolean>,
): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    const reply = await send();
    if (reply.body.error !== 'unavailable') return void successfulBodyOf(reply);
    if (await isStored()) return;
  }
  throw new Error('the registry did not answer five times');
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

export const secretValueOf = (name: string, version: number | string): string =>
  `CANARY-${name}-v${version}`;

export const approvedBytes = (version: number): string => `what was approved, with v${version}`;

/**
 * Describes a request that arrived. Leaves out the credentials, which the replay adds, and the
 * trace headers, which differ in every request.
 */
function describeHit(hit: Hit, reference: Hit, name: string): string {
  const bytesOf = ({ headers, ...rest }: Hit) => {
    const { authorization: _, traceparent: __, tracestate: ___, ...sent } = headers;
    return JSON.stringify({ ...rest, headers: sent });
  };
  const version = hit.headers.authorization?.replace(`Bearer ${secretValueOf(name, '')}`, '');
  if (bytesOf(hit) !== bytesOf(reference)) return JSON.stringify(hit);
  return approvedBytes(Number(version));
}

function answerOf({ body }: Reply): Pick<Outcome, 'told' | 'changed'> {
  const { error, status, changed } = body;
  return { told: error ?? status, ...(changed !== undefined && { changed }) };
}
