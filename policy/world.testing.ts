import { v7 as newId } from 'uuid';

import { createClient, deadlineIn, serve } from '#bus';
import type { Bus, Client, Handlers } from '#bus';
import { loadConfig } from '#config';
import { auth } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { policy } from '#contracts/bus/policy';
import { registry } from '#contracts/bus/registry';
import type { ServiceRecord } from '#contracts/bus/registry';
import type { ActionCall, Call, CallOptions, HttpCall } from '#contracts/call';
import type { DecisionStatement } from '#contracts/decision';
import type { Contract } from '#contracts/define';
import type { CreatedRule } from '#contracts/http/rules';
import { gap as gapSchema, permit as permitSchema } from '#contracts/permit';
import type { Gap, Permit } from '#contracts/permit';
import type { AuthMethod, CompiledTemplate } from '#contracts/template';
import type { ChainLink, IdentityKind, Principal, Role } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { AppError } from '#errors';
import { createSigner, createVerifier } from '#signing';
import { createLogger } from '#telemetry';
import { authoredDigest } from '#templates';
import { createDecisions } from '../test/support/decisions.ts';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { github, templateOf } from './action.testing.ts';
import { policyConfig } from './config.ts';
import type { ConnectionDescription } from './deps.ts';
import { startPolicy } from './start.ts';

export const testDeadline = () => deadlineIn(10_000);
export const callOptions: CallOptions = { timeoutMs: 30_000, maxRisk: null, idempotencyKey: null };

export interface TestIdentity extends ChainLink {
  orgId: string;
  parent: TestIdentity | null;
  active: boolean;
  role: Role | null;
  /** The OAuth clients for which self-approval is switched on for this identity. */
  selfApproving?: readonly string[];
}

/**
 * The state from which the stand-ins for other components answer. Tests change this state; `settle`
 * makes policy drop its cached answers.
 */
export interface Neighbours {
  readonly identities: Map<string, TestIdentity>;
  readonly services: ServiceRecord[];
  /** The templates that are recorded with policy as shipped or published. */
  readonly templates: CompiledTemplate[];
  /**
   * A template that the registry returns instead of the requested one. Policy has no record of it.
   */
  forgedTemplate: CompiledTemplate | null;
  /** Whether policy has records that admins gave the base URLs of the services. */
  areAddressesGiven: boolean;
  readonly secrets: { reference: string; orgId: string; id: string; allowedHosts: string[] }[];
  readonly connections: (Omit<ConnectionDescription, 'asked'> & { orgId: string })[];
  /** Whether the registry reports that it has left out some services of a host. */
  isCut: boolean;
  /**
   * The dry runs whose request the executor was asked to show. Each says whether a person would be
   * asked about the call.
   */
  readonly dryRuns: { isAskedAbout: boolean }[];
}

export interface PolicyWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly db: Database;
  readonly gateway: Client<typeof policy>;
  readonly approvals: Client<typeof policy>;
  readonly neighbours: Neighbours;
  /** The number of requests that policy sent to each endpoint of the stand-ins. */
  readonly requestCounts: Map<string, number>;
  /** Starts another replica. The calling test must dispose it. */
  startReplica(): Promise<AsyncDisposable>;
  bus(component: 'auth' | 'registry' | 'executor' | 'approvals' | 'audit'): Promise<Bus>;
  user(name?: string, more?: Partial<TestIdentity>): TestIdentity;
  below(parent: TestIdentity, name: string, more?: Partial<TestIdentity>): TestIdentity;
  sign(identity: TestIdentity, more?: Partial<Principal>): string;
  signGap(gap: Gap): string;
  /** The signed decision with which this identity allows the call of a permission gap. */
  decision(gap: Gap, by: TestIdentity, change?: Partial<DecisionStatement>): string;
  permitIn(reply: DecideReply): Permit;
  gapIn(reply: DecideReply): Gap;
  decide(identity: TestIdentity, call: Call, more?: Partial<CallOptions>): Promise<DecideReply>;
  rule(maker: TestIdentity, on: TestIdentity | null, text: string): Promise<CreatedRule>;
  /**
   * Sends the events by which other components announce changes, so that policy drops every kind of
   * cached answer.
   */
  settle(): Promise<void>;
}
export type DecideReply = Awaited<ReturnType<Client<typeof policy>['decide']>>;

/** Starts policy on real Postgres and NATS, with stand-ins for the other components. */
export async function createPolicyWorld(): Promise<PolicyWorld> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const config = loadConfig(policyConfig, environment.variables);
  const db = startup.use(
    openDatabase({ url: config.DATABASE_URL, schema: 'policy', connectionsMax: 4 }),
  );
  const neighbours: Neighbours = {
    identities: new Map(),
    services: [],
    templates: [],
    forgedTemplate: null,
    areAddressesGiven: true,
    secrets: [],
    connections: [],
    isCut: false,
    dryRuns: [],
  };
  const asked = new Map<string, number>();
  const buses = {
    auth: await environment.connect('auth'),
    registry: await environment.connect('registry'),
    executor: await environment.connect('executor'),
    approvals: await environment.connect('approvals'),
    audit: await environment.connect('audit'),
  };
  startup.use(await serveStandIn(buses.auth, auth, authHandlers(neighbours), asked));
  startup.use(
    await serveStandIn(buses.registry, registry, registryHandlers(neighbours, db), asked),
  );
  startup.use(await serveStandIn(buses.executor, executor, executorHandlers(neighbours), asked));
  startup.use(await startPolicy(config));
  const gateway = createClient(await environment.connect('gateway'), policy);
  const approvals = createClient(buses.approvals, policy);

  const keys = environment.keys;
  const principals = createSigner<Principal>('principal', ...keys.principal);
  const gaps = createSigner<Gap>('gap', ...keys.gap);
  const gapVerifier = createVerifier('gap', keys.GAP_KEY_POLICY, gapSchema);
  const permits = createVerifier('permit', keys.PERMIT_KEY, permitSchema);
  const decisions = createDecisions(environment);
  const orgId = newId();
  const addIdentity = (identity: TestIdentity): TestIdentity => {
    neighbours.identities.set(identity.id, identity);
    return identity;
  };
  const signPrincipal = (identity: TestIdentity, more: Partial<Principal> = {}) =>
    principals.sign({ ...principalOf(identity), ...more });

  const running = startup.move();
  return {
    environment,
    db,
    gateway,
    approvals,
    neighbours,
    requestCounts: asked,
    startReplica: () => startPolicy(config),
    bus: (component) => Promise.resolve(buses[component]),
    user: (name = 'ann', more = {}) =>
      addIdentity(testIdentityOf('user', name, { orgId, role: 'member', ...more })),
    below: (parent, name, more = {}) =>
      addIdentity(
        testIdentityOf(parent.kind === 'user' ? 'agent' : 'subagent', name, {
          orgId: parent.orgId,
          parent,
          ...more,
        }),
      ),
    sign: signPrincipal,
    signGap: (gap) => gaps.sign(gap),
    decision: (gap, by, change) => decisions.signOn(gaps.sign(gap), by, change),
    permitIn(reply) {
      if (reply.outcome !== 'permit') throw new Error(`no permit but ${JSON.stringify(reply)}`);
      return permits.verify(reply.permit);
    },
    gapIn(reply) {
      if (reply.outcome !== 'gap') throw new Error(`no gap but ${JSON.stringify(reply)}`);
      return gapVerifier.verify(reply.gap);
    },
    decide: (identity, call, more = {}) =>
      gateway.decide(
        { principal: signPrincipal(identity), call, options: { ...callOptions, ...more } },
        testDeadline(),
      ),
    rule(maker, on, text) {
      const [effect, pattern = ''] = text.split(' ');
      const body = {
        identity_id: on?.id ?? null,
        effect: effect === 'deny' ? ('deny' as const) : ('allow' as const),
        pattern,
      };
      return gateway.createRule({ principal: signPrincipal(maker), body }, testDeadline());
    },
    async settle() {
      for (const [component, subject] of announcements) {
        const { nats } = buses[component];
        nats.publish(subject, '{}');
        await nats.flush();
      }
      // Policy receives events and requests over the same connection, so when it has answered this
      // request it has received all earlier events.
      await gateway.ping({}, testDeadline());
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

const announcements = [
  ['auth', 'evt.auth.identity.changed'],
  ['registry', 'evt.registry.service.changed'],
  ['executor', 'evt.executor.secret.changed'],
  ['executor', 'evt.executor.connection.changed'],
] as const;

function testIdentityOf(
  kind: IdentityKind,
  name: string,
  more: Partial<TestIdentity>,
): TestIdentity {
  return {
    id: newId(),
    kind,
    name,
    inheritPermissions: false,
    orgId: '',
    parent: null,
    active: true,
    role: null,
    ...more,
  };
}

export function chainOf(identity: TestIdentity): TestIdentity[] {
  return identity.parent === null ? [identity] : [...chainOf(identity.parent), identity];
}

const linkOf = ({ id, kind, name, inheritPermissions }: TestIdentity): ChainLink => ({
  id,
  kind,
  name,
  inheritPermissions,
});

function principalOf(identity: TestIdentity): Principal {
  return {
    orgId: identity.orgId,
    identityId: identity.id,
    kind: identity.kind,
    userId: chainOf(identity)[0]?.id ?? identity.id,
    role: identity.role,
    chain: chainOf(identity).map(linkOf),
    autoCallOnApprove: true,
    credential: { kind: 'agent_key', id: newId(), clientId: null },
    scopes: ['mcp'],
    expiresAt: Date.now() + 5_000,
  };
}

/** A stand-in for a component. It answers only the endpoints that policy calls. */
function serveStandIn<C extends Contract>(
  bus: Bus,
  contract: C,
  handlers: Partial<Handlers<C>>,
  asked: Map<string, number>,
): Promise<AsyncDisposable> {
  const countingHandlers = Object.entries(handlers).map(([name, handler]) => [
    name,
    (...given: never[]) => {
      asked.set(name, (asked.get(name) ?? 0) + 1);
      return (handler as (...given: never[]) => unknown)(...given);
    },
  ]);
  const endpoints = Object.fromEntries(
    Object.entries(contract.endpoints).filter(([name]) => name in handlers),
  );
  const logger = createLogger({ component: 'stand-in', level: 'silent' });
  return serve(bus, { ...contract, endpoints }, Object.fromEntries(countingHandlers) as never, {
    logger,
  });
}

function authHandlers({ identities }: Neighbours): Partial<Handlers<typeof auth>> {
  const getIdentityInOrg = (orgId: string | null, id: string) => {
    const identity = identities.get(id);
    if (identity === undefined || (orgId !== null && identity.orgId !== orgId)) {
      throw new AppError('not_found', 'There is no such identity.');
    }
    return identity;
  };
  return {
    async getChain({ orgId, identityId }) {
      const chain = chainOf(getIdentityInOrg(orgId, identityId));
      return {
        active: chain.every(({ active }) => active),
        standing: chain.every(({ active }) => active) ? 'active' : 'archived',
        chain: chain.map(linkOf),
        role: chain.at(-1)?.role ?? null,
        selfApproving: chain.flatMap(({ id: agentId, selfApproving = [] }) =>
          selfApproving.length === 0 ? [] : [{ agentId, clientIds: [...selfApproving] }],
        ),
      };
    },
    async getIdentity({ principal: signed, id }) {
      const payload = signed.split('.')[0] ?? '';
      const caller = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Principal;
      const identity = getIdentityInOrg(caller.orgId, id);
      const isOwn = chainOf(identity).some((link) => link.id === caller.identityId);
      if (!isOwn && caller.role !== 'admin' && caller.role !== 'auditor') {
        throw new AppError('not_found', 'There is no such identity.');
      }
      return {
        id,
        org_id: identity.orgId,
        kind: identity.kind,
        name: identity.name,
        parent_id: identity.parent?.id ?? null,
        owner_id: chainOf(identity)[0]?.id ?? id,
        depth: chainOf(identity).length - 1,
        path: chainOf(identity).map(({ name }) => name),
        inherit_permissions: identity.inheritPermissions,
        auto_call_on_approve: true,
        status: identity.active ? 'active' : 'revoked',
        created_at: new Date(0).toISOString(),
        last_active_at: null,
        expires_at: null,
        ...(identity.role === null ? {} : { role: identity.role }),
      };
    },
  };
}

/**
 * Records templates with policy: built-in templates as if they were shipped, others as published.
 */
async function recordTemplate(
  db: Database,
  orgId: string,
  template: CompiledTemplate,
): Promise<void> {
  const { tier, ownerId, key, version } = template;
  const isBuiltIn = tier === 'global';
  await db`
    insert into policy.known_template (id, org_id, tier, owner_id, key, version, digest)
    values (${newId()}, ${isBuiltIn ? null : orgId}, ${tier}, ${ownerId}, ${key},
            ${isBuiltIn ? null : version}, ${authoredDigest(template)})
        on conflict do nothing
  `;
}

function registryHandlers(
  neighbours: Neighbours,
  db: Database,
): Partial<Handlers<typeof registry>> {
  const { services, templates } = neighbours;
  return {
    async resolveService({ orgId, userId, name }) {
      const ownService = services.find((each) => each.ownerId === userId && each.name === name);
      const foundSecrets =
        ownService ??
        services.find((each) => [name, `org/${name}`].includes(each.name) && each.tier === 'org');
      if (foundSecrets === undefined) {
        throw new AppError('unknown_service', 'There is no such service.', {
          details: { available: services.map((each) => each.name) },
        });
      }
      if (neighbours.areAddressesGiven) {
        await db`
          insert into policy.known_address (id, org_id, base_url)
          values (${newId()}, ${orgId}, ${foundSecrets.baseUrl})
              on conflict on constraint known_address_key do nothing
        `;
      }
      return foundSecrets;
    },
    async getCompiledTemplate({ orgId, template: { key, tier, version } }) {
      if (neighbours.forgedTemplate !== null) return neighbours.forgedTemplate;
      const foundSecrets = templates.find(
        (each) => each.key === key && each.tier === tier && each.version === version,
      );
      if (foundSecrets === undefined) throw new AppError('not_found', 'There is no such template.');
      await recordTemplate(db, orgId, foundSecrets);
      return foundSecrets;
    },
    async findByHost({ userId, host }) {
      const foundSecrets = services.filter(
        (each) => each.hosts.includes(host) && (each.ownerId === userId || each.tier === 'org'),
      );
      return {
        services: foundSecrets.slice(0, 200),
        templates: templates
          .filter((each) => each.hosts.includes(host))
          .map(({ key, tier, ownerId, version }) => ({ key, tier, ownerId, version })),
        isCut: neighbours.isCut || foundSecrets.length > 200,
      };
    },
    async listConnected({ userId, whose, after }) {
      const isCallable = (each: ServiceRecord) => each.ownerId === userId || each.tier === 'org';
      const listedServices = services.filter((each) => isCallable(each) === (whose === 'callable'));
      const from = after === null ? 0 : listedServices.findIndex(({ id }) => id === after) + 1;
      const page = listedServices.slice(from, from + 200);
      const isLast = from + page.length === listedServices.length;
      return { services: page, next: isLast ? null : (page.at(-1)?.id ?? null) };
    },
  };
}

function executorHandlers({
  secrets,
  connections,
  dryRuns,
}: Neighbours): Partial<Handlers<typeof executor>> {
  return {
    async describeSecrets({ orgId, names }) {
      const foundSecrets = names.flatMap((name) => {
        const orgSecrets = secrets.filter((each) => each.orgId === orgId);
        const secret =
          orgSecrets.find((each) => each.reference === name) ??
          orgSecrets.find((each) => each.reference === `org/${name}`);
        return secret === undefined ? [] : [{ ...secret, asked: name }];
      });
      return {
        secrets: foundSecrets.map(({ asked, reference, id, allowedHosts }) => ({
          asked,
          reference,
          id,
          allowedHosts,
          version: 1,
        })),
      };
    },
    async describeConnections({ orgId, names }) {
      const orgSecrets = connections.filter((each) => each.orgId === orgId);
      const foundSecrets = names.flatMap((asked) => {
        const connection =
          orgSecrets.find((each) => each.reference === asked) ??
          orgSecrets.find((each) => each.reference === `org/${asked}`);
        if (connection === undefined) return [];
        const { orgId: _, ...description } = connection;
        return [{ asked, ...description }];
      });
      return { connections: foundSecrets };
    },
    async showRequest({ call, isAskedAbout }) {
      dryRuns.push({ isAskedAbout });
      const url = call.kind === 'http' ? call.target : `https://shown.example/${call.action}`;
      const method = call.kind === 'http' ? call.method : 'GET';
      const emptyRequest = {
        params: {},
        headers: {},
        content_type: null,
        body: null,
        credentials: [],
      };
      return { request: { method, url, ...emptyRequest } };
    },
  };
}

const bearer: AuthMethod = {
  type: 'apiKey',
  scheme: 'token',
  in: 'header',
  name: 'Authorization',
  prefix: 'Bearer ',
  encoding: 'raw',
  defaultSecretName: 'github_token',
};
export const host = 'api.github.example';

/** Connects the tests' small GitHub template for a user, with a token that may go to its host. */
export function connectGithub(
  { neighbours }: PolicyWorld,
  owner: TestIdentity,
  more: Partial<ServiceRecord> = {},
): ServiceRecord {
  if (neighbours.templates.every(({ key }) => key !== 'github')) {
    neighbours.templates.push(
      templateOf(Object.values(github), { auth: [bearer], security: [['token']] }),
    );
  }
  const reference = more.tier === 'org' ? 'org/github_token' : 'github_token';
  const isKnown = neighbours.secrets.some(
    (each) => each.orgId === owner.orgId && each.reference === reference,
  );
  if (!isKnown) {
    neighbours.secrets.push({ reference, orgId: owner.orgId, id: newId(), allowedHosts: [host] });
  }
  const service: ServiceRecord = {
    id: newId(),
    name: 'github',
    tier: 'user',
    ownerId: more.tier === 'org' ? null : owner.id,
    template: { key: 'github', tier: 'global', ownerId: null, version: 1 },
    status: 'ready',
    autoAllowReads: true,
    baseUrl: `https://${host}`,
    hosts: [host],
    secrets: { token: reference },
    connection: null,
    ...more,
  };
  neighbours.services.push(service);
  return service;
}

export const createIssue: ActionCall = {
  kind: 'action',
  service: 'github',
  action: 'issues.create',
  params: { owner: 'acme', repo: 'site', title: 'Broken' },
  filter: null,
};
export const listIssues: ActionCall = {
  ...createIssue,
  action: 'issues.list',
  params: { owner: 'acme', repo: 'site' },
};

export function httpCallOf(more: Partial<HttpCall>): HttpCall {
  return {
    kind: 'http',
    service: 'http',
    method: 'GET',
    target: `https://${host}/zen`,
    query: {},
    headers: {},
    body: null,
    secrets: [],
    filter: null,
    ...more,
  };
}
