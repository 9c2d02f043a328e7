import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { v7 as uuidv7 } from 'uuid';

import { createClient, deadlineIn, serve } from '#bus';
import type { Client, Deadline, Handlers } from '#bus';
import { loadConfig } from '#config';
import { auth } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { policy } from '#contracts/bus/policy';
import { registry } from '#contracts/bus/registry';
import type { ActionCall, Call, CallOptions, HttpCall } from '#contracts/call';
import type { Event } from '#contracts/events';
import type { Gap, Permit } from '#contracts/permit';
import { platformService } from '#contracts/platform';
import type { AuthMethod, CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Principal, Role } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { openDatabase } from '#database';
import { onEvents } from '#events';
import { createSigner, digestOf } from '#signing';
import { createLogger } from '#telemetry';
import { templateDigest } from '#templates';
import { createCanary } from '../test/support/canaries.ts';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { executorConfig } from './config.ts';
import { actionOf, templateOf } from './request/domain/action.testing.ts';
import { startExecutor } from './start.ts';
import { requireMarkedCredentials } from './vault/marked.testing.ts';

const logger = createLogger({ component: 'test', level: 'silent' });
export const testDeadline = () => deadlineIn(15_000);
export { createCanary as canary };
export const context = { requestId: 'req-1', traceId: null, ip: '192.0.2.1' };
export const options: CallOptions = { timeoutMs: 10_000, maxRisk: null, idempotencyKey: null };

export interface Hit {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
export type Answers = (hit: Hit, reply: ServerResponse) => unknown;

/** A third-party API that records the requests that it receives. */
export async function startUpstream() {
  const hits: Hit[] = [];
  const ok: Answers = (_hit, reply) => {
    reply.setHeader('content-type', 'application/json');
    reply.end('{"ok":true}');
  };
  const state = { answers: ok };
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const hit = { method, url, headers, body: Buffer.concat(chunks).toString() };
      hits.push(hit);
      state.answers(hit, reply);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    hits,
    host,
    baseUrl: `http://${host}`,
    answer: (answers: Answers) => void (state.answers = answers),
    reset() {
      hits.length = 0;
      state.answers = ok;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const actions = [
  actionOf({ key: 'get', path: '/things/{id}', params: [{ name: 'id', in: 'path' }] }),
  { ...actionOf({ key: 'scoped', path: '/scoped' }), minimumScopes: ['notes'] },
  actionOf({ key: 'risky', path: '/trigger', risk: 'write' }),
  actionOf({ key: 'download', path: '/file', responseType: 'binary' }),
  actionOf({
    key: 'create',
    method: 'POST',
    path: '/things',
    risk: 'write',
    description: [{ text: 'Create ' }, { param: 'title' }, { text: ' in ' }, { param: 'room' }],
    body: { mediaType: 'application/json', wholeBody: false, required: true, parts: {} },
    params: [
      { name: 'title', in: 'body' },
      { name: 'password', in: 'body' },
      { name: 'room', in: 'body', resolve: { get: '/rooms/{room}', pick: 'room.name' } },
    ],
    disclose: [
      { label: 'Title', filter: '.body.title', maxChars: 8 },
      { label: 'Password', filter: '.body.password | length', maxChars: null },
      { label: 'Broken', filter: '.body | error("no")', maxChars: null },
    ],
    redact: ['body.password'],
  }),
];

interface StandInAnswers {
  /** The hosts that the simulated policy knows for the service. */
  hosts: string[];
  /** The requests that the simulated policy received. */
  readonly asked: Parameters<Client<typeof policy>['listServiceHosts']>[0][];
  /** The simulated registry's answer for a template with OAuth. */
  oauth?: Omit<Awaited<ReturnType<Client<typeof registry>['describeTemplateOauth']>>, 'template'>;
  /** Templates for which a rule of the simulated policy denies requests for services. */
  readonly deniedTemplates: Set<string>;
  /**
   * The services that the simulated registry has: `github` is the user's, `org/github` the org's.
   */
  readonly connectedNames: Set<string>;
  /** The secrets of these services by their schemes. */
  secretsOfServices: Record<string, string>;
  /** The keys of templates that belong to a user. */
  readonly ownTemplates: Set<string>;
  /** The identities that the simulated auth reports as revoked. */
  readonly revoked: Set<string>;
}

function neededSecretOf(method: Extract<AuthMethod, { type: 'apiKey' }>) {
  const { scheme, parts } = method;
  return {
    kind: 'secret' as const,
    scheme,
    default_secret_name: method.defaultSecretName,
    sent_as: method.name,
    encoding: method.encoding === 'derived' ? ('raw' as const) : method.encoding,
    ...(parts === undefined ? {} : { parts: [...parts] }),
  };
}

/** The simulated registry's answer for the template `tpl`, which is built in for every org. */
function shownTemplateOf(template: CompiledTemplate) {
  return {
    key: template.key,
    tier: 'global' as const,
    owner_id: null,
    status: 'published' as const,
    version: 1,
    published_version: 1,
    latest_version: 1,
    title: template.title,
    description: '',
    category: '',
    runtime: template.runtime,
    hosts: template.hosts,
    variables: [],
    base_url_allowed: false,
    auth: [],
    ways: template.auth.flatMap((method) =>
      method.type === 'apiKey' ? [[neededSecretOf(method)]] : [],
    ),
    actions_count: 0,
    updated_at: null,
    actions: Object.values(template.actions).map(({ key, method, path, risk }) => ({
      action: key,
      summary: key,
      method,
      path,
      risk,
      params_schema: {},
    })),
  };
}

/**
 * An executor on a real Postgres and NATS, with an upstream on loopback. Auth, policy and registry
 * are simulated, with the real contracts. The test signs permits and permission gaps as policy
 * does.
 */
export async function createWorld({
  variables = {},
  ...starting
}: { variables?: Record<string, string> } & Parameters<typeof startExecutor>[1] = {}) {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const { adminUrl, variables: own } = environment;
  startup.defer(() => requireMarkedCredentials({ adminUrl, masterKey: own['MASTER_KEY'] ?? '' }));
  const upstream = startup.use(await startUpstream());
  const template: { current: CompiledTemplate } = { current: templateOf(actions) };
  const settings = { durableReadAudit: false, asked: 0 };
  const genuine: StandInAnswers = {
    hosts: [],
    asked: [],
    deniedTemplates: new Set(),
    connectedNames: new Set(),
    secretsOfServices: {},
    ownTemplates: new Set(),
    revoked: new Set(),
  };

  const registryBus = await environment.connect('registry');
  const uses: Awaited<ReturnType<Client<typeof registry>['findSecretUses']>>['services'] = [];
  const toolReports: { serviceId: string; isTold: boolean }[] = [];
  const registryHandlers: Partial<Handlers<typeof registry>> = {
    getCompiledTemplate: async () => template.current,
    followTools: async ({ serviceId, isTold }) => {
      toolReports.push({ serviceId, isTold });
      return {};
    },
    describeTemplateOauth: async ({ key }) => {
      if (genuine.oauth === undefined)
        throw new AppError('not_found', 'There is no such template.');
      return { ...genuine.oauth, template: { key, tier: 'global', ownerId: null, version: 1 } };
    },
    getTemplate: async ({ key, tier }) => {
      const isOwn = genuine.ownTemplates.has(key);
      if (tier === null || tier === (isOwn ? 'user' : 'global'))
        return { ...shownTemplateOf(template.current), key };
      throw new AppError('not_found', 'There is no such template.');
    },
    resolveService: async ({ name }) => {
      if (!genuine.connectedNames.has(name)) {
        throw new AppError('unknown_service', 'There is no such service.');
      }
      const tier = name.startsWith('org/') ? 'org' : 'user';
      return { ...platformService, name, tier, secrets: genuine.secretsOfServices };
    },
    findSecretUses: async ({ references }) => ({
      services: uses.filter((service) =>
        service.references.some((each) => references.includes(each)),
      ),
    }),
  };
  startup.use(
    await serve(registryBus, registry, registryHandlers as Handlers<typeof registry>, { logger }),
  );
  const policyBus = await environment.connect('policy');
  const policyHandlers: Partial<Handlers<typeof policy>> = {
    listServiceHosts: async (request) => {
      genuine.asked.push(request);
      return { hosts: genuine.hosts };
    },
    explain: async ({ call }) => {
      const wantedTemplate = call.kind === 'action' ? call.params['template'] : undefined;
      const isDenied =
        typeof wantedTemplate === 'string' && genuine.deniedTemplates.has(wantedTemplate);
      return {
        outcome: isDenied ? 'denied' : 'allowed',
        why: [],
        permission_keys: [],
        uncovered_keys: [],
        grantors: [],
        risk: 'write',
        action_description: '',
        request: {
          method: 'POST',
          url: 'https://platform.invalid/',
          params: {},
          headers: {},
          content_type: null,
          body: null,
          credentials: [],
        },
      };
    },
  };
  startup.use(
    await serve(policyBus, policy, policyHandlers as Handlers<typeof policy>, { logger }),
  );
  const authBus = await environment.connect('auth');
  const authHandlers: Partial<Handlers<typeof auth>> = {
    getChain: async ({ identityId }) => ({
      active: !genuine.revoked.has(identityId),
      standing: genuine.revoked.has(identityId) ? 'revoked' : 'active',
      chain: createPeople(environment.keys).chain,
      role: null,
      selfApproving: [],
    }),
    getOrgSettings: async () => {
      settings.asked += 1;
      return {
        approvalTtlSeconds: 1,
        autoBubbleSeconds: 1,
        rememberTtlSeconds: 1,
        selfRememberMaxSeconds: 1,
        durableReadAudit: settings.durableReadAudit,
      };
    },
  };
  startup.use(await serve(authBus, auth, authHandlers as Handlers<typeof auth>, { logger }));

  const allVariables: Record<string, string> = {
    ...environment.variables,
    EGRESS_ALLOW: '127.0.0.1/32',
    ...variables,
  };
  const startInstance = () => startExecutor(loadConfig(executorConfig, allVariables), starting);
  const first = await startInstance();
  startup.use(first);
  const sql = startup.use(
    openDatabase({ url: environment.adminUrl, schema: 'executor', connectionsMax: 3 }),
  );
  const clientOf = async (component: 'gateway' | 'approvals' | 'policy' | 'registry') =>
    createClient(await environment.connect(component), executor);
  const auditBus = await environment.connect('policy');
  const announced: Event[] = [];
  // An event is published without its audit record, which is in the same row of the outbox.
  const addRecord = async (event: Event): Promise<Event> => {
    const [row] = await sql<{ body: string }[]>`
      select body from executor.outbox where id = ${event.id ?? null}
    `;
    return { ...event, audit: (JSON.parse(row?.body ?? '{"audit":null}') as Event).audit };
  };
  // The look-ups run one after another, so that `announced` keeps the order of the events.
  let pendingAdditions: Promise<unknown> = Promise.resolve();
  startup.use(
    onEvents(auditBus, ['evt.executor.secret.>'], (message) => {
      if (!message) return;
      const body = message.body as Event;
      pendingAdditions = pendingAdditions.then(async () => announced.push(await addRecord(body)));
    }),
  );

  const people = createPeople(environment.keys);
  const clients = {
    gateway: withContext(await clientOf('gateway')),
    approvals: await clientOf('approvals'),
    policy: await clientOf('policy'),
    registry: await clientOf('registry'),
  };
  const running = startup.move();
  return {
    ...people,
    ...clients,
    ...createStatementSigners({
      environment,
      people,
      template,
      baseUrl: upstream.baseUrl,
      host: upstream.host,
    }),
    environment,
    variables: allVariables,
    upstream,
    template,
    settings,
    /** What the simulated components know about the service that is being connected. */
    genuine,
    /** The simulated registry's answer about the services that use secrets. */
    uses,
    /** The executor's reports to the registry about the tools of services. */
    toolReports,
    sql,
    announced,
    start: startInstance,
    stopExecutor: () => first[Symbol.asyncDispose](),
    /** The audit events of calls in the outbox. Only non-reads write events to the outbox. */
    async outbox(type: string): Promise<Event[]> {
      const rows = await sql<{ body: string }[]>`
        select body from executor.outbox where type = ${type} order by id
      `;
      return rows.map(({ body }) => JSON.parse(body) as Event);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
type Gateway = Client<typeof executor>;
type WithoutContext<Name extends 'createSecret' | 'deleteSecret'> = Omit<
  Parameters<Gateway[Name]>[0],
  'context'
> &
  Partial<Pick<Parameters<Gateway[Name]>[0], 'context'>>;

/** Adds the context of the request to each call, because most tests do not care about it. */
function withContext(client: Gateway) {
  return {
    ...client,
    createSecret: (request: WithoutContext<'createSecret'>, deadline: Deadline) =>
      client.createSecret({ context, ...request }, deadline),
    deleteSecret: (request: WithoutContext<'deleteSecret'>, deadline: Deadline) =>
      client.deleteSecret({ context, ...request }, deadline),
  };
}

export type World = Awaited<ReturnType<typeof createWorld>>;

function createPeople(keys: TestEnvironment['keys']) {
  const orgId = uuidv7();
  const signer = createSigner<Principal>('principal', ...keys.principal);
  const userId = uuidv7();
  const agentId = uuidv7();
  const createLink = (id: string, kind: 'user' | 'agent', name: string) => ({
    id,
    kind,
    name,
    inheritPermissions: false,
  });
  const credential = { kind: 'agent_key' as const, id: uuidv7(), clientId: null };
  const userLink = createLink(userId, 'user', 'ann');
  const chain = [userLink, createLink(agentId, 'agent', 'bot')];
  const principalOf = (parts: Partial<Principal> & { role: Role | null }): string =>
    signer.sign({
      orgId,
      identityId: userId,
      kind: 'user',
      userId,
      chain: [userLink],
      autoCallOnApprove: true,
      credential,
      scopes: ['user'],
      expiresAt: Date.now() + 60_000,
      ...parts,
    });
  return {
    orgId,
    userId,
    agentId,
    chain,
    credential,
    principalOf,
    admin: principalOf({ role: 'admin' }),
  };
}

interface NamedCredential {
  readonly id: string;
  readonly name: string;
}
type PermitParts = Partial<Permit> & {
  secrets?: NamedCredential[];
  connections?: NamedCredential[];
};

/** Signs permits and permission gaps for calls of the agent, as policy would. */
function createStatementSigners({
  environment,
  people,
  baseUrl,
  host,
  template: registryTemplate,
}: {
  environment: Pick<TestEnvironment, 'keys'>;
  /**
   * The template that the simulated registry returns, and whose digest is in permits and permission
   * gaps.
   */
  template: { readonly current: CompiledTemplate };
  people: ReturnType<typeof createPeople>;
  baseUrl: string;
  host: string;
}) {
  const permits = createSigner<Permit>('permit', environment.keys.PERMIT_KEY);
  const gaps = createSigner<Gap>('gap', ...environment.keys.gap);
  const { orgId, userId, agentId, chain, credential } = people;
  const template = { key: 'acme', tier: 'global' as const, ownerId: null, version: 1 };
  const serviceId = uuidv7();

  const factsOf = (call: Call, { secrets = [], connections = [], ...parts }: PermitParts) => {
    const { current } = registryTemplate;
    const keys =
      call.kind === 'action'
        ? [`acme:${call.action}:*`]
        : [`http:${call.method}:${host}${new URL(call.target, baseUrl).pathname}`];
    const target: Permit['target'] =
      call.kind === 'action'
        ? {
            kind: 'action',
            service: call.service,
            serviceId,
            template,
            action: call.action,
            baseUrl,
          }
        : call.service === 'http'
          ? { kind: 'raw' }
          : { kind: 'verb', service: call.service, serviceId, template, baseUrl };
    const action: CompiledAction | undefined =
      call.kind === 'action' ? actions.find(({ key }) => key === call.action) : undefined;
    const method = call.kind === 'action' ? (action?.method ?? 'GET') : call.method;
    const risk = action?.risk ?? (method === 'GET' ? 'read' : 'write');
    return {
      orgId,
      userId,
      identityId: agentId,
      chain,
      credential,
      callDigest: digestOf(call),
      idempotencyKey: null,
      target,
      templateDigest: target.kind === 'raw' ? null : templateDigest(current),
      injections: [
        ...secrets.map((namedCredential) => ({ kind: 'secret' as const, ...namedCredential })),
        ...connections.map((namedCredential) => ({
          kind: 'connection' as const,
          ...namedCredential,
        })),
      ].map(({ kind, id, name }) => ({
        kind,
        credentialId: id,
        credentialName: name,
        in: 'header' as const,
        key: 'Authorization',
        prefix: 'Bearer ',
        encoding: 'raw' as const,
      })),
      hosts: [host],
      keys,
      derivedKeys: [],
      risk,
      nonRead: risk !== 'read',
      description: 'What the call does',
      ...parts,
    };
  };
  const permitOf = (call: Call, parts: PermitParts = {}): string => {
    const jti = uuidv7();
    return permits.sign({
      jti,
      dispatchId: jti,
      decision: { by: 'rule', rule_id: null, approval_id: null },
      approvalId: null,
      executionId: null,
      requestDigest: null,
      expiresAt: Date.now() + 5_000,
      ...factsOf(call, parts),
    } as Permit);
  };
  const gapOf = (call: Call, parts: PermitParts & Partial<Gap> = {}): string =>
    gaps.sign({
      jti: uuidv7(),
      uncoveredKeys: ['acme:create:*'],
      suggestedTiers: [{ keys: ['acme:create:*'], description: 'this call' }],
      placement: { id: agentId, kind: 'agent', name: 'bot' },
      ladder: [{ id: userId, kind: 'user', name: 'ann', covers: true }],
      lookUpsAllowed: false,
      autoCallOnApprove: true,
      issuedAt: Date.now(),
      ...factsOf(call, parts),
    } as Gap);
  const actionCall = (
    action: string,
    params: ActionCall['params'] = {},
    filter: string | null = null,
  ): ActionCall => ({
    kind: 'action',
    service: 'acme',
    action,
    params,
    filter,
  });
  const rawCall = (parts: Partial<HttpCall> & { target: string }): HttpCall => ({
    kind: 'http',
    service: 'http',
    method: 'GET',
    query: {},
    headers: {},
    body: null,
    secrets: [],
    filter: null,
    ...parts,
  });
  return { permitOf, gapOf, actionCall, rawCall };
}
