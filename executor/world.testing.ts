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
import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import type { Principal, Role } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { openDatabase } from '#database';
import { onEvents } from '#events';
import { createSigner, digestOf } from '#signing';
import { createLogger } from '#telemetry';
import { templateDigest } from '#templates';
import { canary } from '../test/support/canaries.ts';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { executorConfig } from './config.ts';
import { actionOf, templateOf } from './domain/action.testing.ts';
import { startExecutor } from './start.ts';
import { requireMarkedCredentials } from './vault/marked.testing.ts';

const logger = createLogger({ component: 'test', level: 'silent' });
export const soon = () => deadlineIn(15_000);
export { canary };
export const context = { requestId: 'req-1', traceId: null, ip: '192.0.2.1' };
export const options: CallOptions = { timeoutMs: 10_000, maxRisk: null, idempotencyKey: null };

export interface Hit {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
export type Answers = (hit: Hit, reply: ServerResponse) => unknown;

/** A third-party API that keeps its own log of what reached it. */
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

interface Genuine {
  /** As policy knows them. */
  hosts: string[];
  /** What policy was asked. */
  readonly asked: Parameters<Client<typeof policy>['listServiceHosts']>[0][];
  /** What the registry says of a template that takes a connection. */
  oauth?: Omit<Awaited<ReturnType<Client<typeof registry>['describeTemplateOauth']>>, 'template'>;
}

/**
 * The executor on real Postgres and NATS, with an upstream on loopback, and stand-ins for auth,
 * policy and registry at their contracts. The test signs permits and gaps as policy does.
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
  const genuine: Genuine = { hosts: [], asked: [] };

  const registryBus = await environment.connect('registry');
  const uses: Awaited<ReturnType<Client<typeof registry>['findSecretUses']>>['services'] = [];
  const followed: { serviceId: string; isTold: boolean }[] = [];
  const registryHandlers: Partial<Handlers<typeof registry>> = {
    getCompiledTemplate: async () => template.current,
    followTools: async ({ serviceId, isTold }) => {
      followed.push({ serviceId, isTold });
      return {};
    },
    describeTemplateOauth: async ({ key }) => {
      if (genuine.oauth === undefined)
        throw new AppError('not_found', 'There is no such template.');
      return { ...genuine.oauth, template: { key, tier: 'global', ownerId: null, version: 1 } };
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
  };
  startup.use(
    await serve(policyBus, policy, policyHandlers as Handlers<typeof policy>, { logger }),
  );
  const authBus = await environment.connect('auth');
  const authHandlers: Partial<Handlers<typeof auth>> = {
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
  const start = () => startExecutor(loadConfig(executorConfig, allVariables), starting);
  const first = await start();
  startup.use(first);
  const sql = startup.use(
    openDatabase({ url: environment.adminUrl, schema: 'executor', connectionsMax: 3 }),
  );
  const clientOf = async (component: 'gateway' | 'approvals' | 'policy' | 'registry') =>
    createClient(await environment.connect(component), executor);
  const auditBus = await environment.connect('policy');
  const announced: Event[] = [];
  startup.use(
    onEvents(auditBus, ['evt.executor.secret.>'], (message) => {
      if (message) announced.push(message.body as Event);
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
    /** What policy knows of the service that is being connected, and what the registry says of it. */
    genuine,
    /** What the registry answers about services that use secrets. */
    uses,
    /** What the executor told the registry about the tools of services. */
    followed,
    sql,
    announced,
    start,
    stopExecutor: () => first[Symbol.asyncDispose](),
    /** Audit events of calls, from the outbox: what non-reads leave. */
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
type ContextLess<Name extends 'createSecret' | 'deleteSecret'> = Omit<
  Parameters<Gateway[Name]>[0],
  'context'
> &
  Partial<Pick<Parameters<Gateway[Name]>[0], 'context'>>;

/** Most tests do not care which request a secret was made by. */
function withContext(client: Gateway) {
  return {
    ...client,
    createSecret: (request: ContextLess<'createSecret'>, deadline: Deadline) =>
      client.createSecret({ context, ...request }, deadline),
    deleteSecret: (request: ContextLess<'deleteSecret'>, deadline: Deadline) =>
      client.deleteSecret({ context, ...request }, deadline),
  };
}

export type World = Awaited<ReturnType<typeof createWorld>>;

function createPeople(keys: TestEnvironment['keys']) {
  const orgId = uuidv7();
  const signer = createSigner<Principal>('principal', ...keys.principal);
  const userId = uuidv7();
  const agentId = uuidv7();
  const link = (id: string, kind: 'user' | 'agent', name: string) => ({
    id,
    kind,
    name,
    inheritPermissions: false,
  });
  const credential = { kind: 'agent_key' as const, id: uuidv7(), clientId: null };
  const userLink = link(userId, 'user', 'ann');
  const chain = [userLink, link(agentId, 'agent', 'bot')];
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

interface Named {
  readonly id: string;
  readonly name: string;
}
type PermitParts = Partial<Permit> & { secrets?: Named[]; connections?: Named[] };

/** Permits and gaps as policy would sign them for a call of the agent. */
function createStatementSigners({
  environment,
  people,
  baseUrl,
  host,
  template: registryTemplate,
}: {
  environment: Pick<TestEnvironment, 'keys'>;
  /** What the stand-in for the registry gives, by which policy decided. */
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
        ...secrets.map((named) => ({ kind: 'secret' as const, ...named })),
        ...connections.map((named) => ({ kind: 'connection' as const, ...named })),
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
