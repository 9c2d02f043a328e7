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
import { policyConfig } from './config.ts';
import { github, templateOf } from './domain/action.testing.ts';
import type { ConnectionDescription } from './lookups/lookups.ts';
import { startPolicy } from './start.ts';

export const soon = () => deadlineIn(10_000);
export const options: CallOptions = { timeoutMs: 30_000, maxRisk: null, idempotencyKey: null };

export interface TestIdentity extends ChainLink {
  orgId: string;
  parent: TestIdentity | null;
  active: boolean;
  role: Role | null;
  /** Its OAuth clients that decide their own approvals. */
  selfApproving?: readonly string[];
}

/** What the neighbours know; tests change it and `settle` makes policy forget what it has heard. */
export interface Neighbours {
  readonly beings: Map<string, TestIdentity>;
  readonly services: ServiceRecord[];
  /** Shipped or published, as policy was told. */
  readonly templates: CompiledTemplate[];
  /** What the registry gives instead of any of them; policy was not told of it. */
  lie: CompiledTemplate | null;
  /** Whether admins gave the base URLs of services, as policy was told. */
  areAddressesGiven: boolean;
  readonly secrets: { reference: string; orgId: string; id: string; allowedHosts: string[] }[];
  readonly connections: (Omit<ConnectionDescription, 'asked'> & { orgId: string })[];
  /** Of what is on a host, the registry does not name all. */
  isCut: boolean;
  /** Of each request of a dry run that the executor was to show: whether somebody would be asked about it. */
  readonly dryRuns: { isAskedAbout: boolean }[];
}

export interface PolicyWorld extends AsyncDisposable {
  readonly environment: TestEnvironment;
  readonly db: Database;
  readonly gateway: Client<typeof policy>;
  readonly approvals: Client<typeof policy>;
  readonly neighbours: Neighbours;
  /** How often each endpoint of a neighbour was asked. */
  readonly asked: Map<string, number>;
  /** Another process of the component; the test that starts it stops it. */
  startReplica(): Promise<AsyncDisposable>;
  bus(component: 'auth' | 'registry' | 'executor' | 'approvals' | 'audit'): Promise<Bus>;
  user(name?: string, more?: Partial<TestIdentity>): TestIdentity;
  below(parent: TestIdentity, name: string, more?: Partial<TestIdentity>): TestIdentity;
  sign(being: TestIdentity, more?: Partial<Principal>): string;
  signGap(gap: Gap): string;
  /** That this being allows what the gap asks for, as auth signs it. */
  decision(gap: Gap, by: TestIdentity, change?: Partial<DecisionStatement>): string;
  permitIn(reply: Decided): Permit;
  gapIn(reply: Decided): Gap;
  decide(being: TestIdentity, call: Call, more?: Partial<CallOptions>): Promise<Decided>;
  rule(maker: TestIdentity, on: TestIdentity | null, text: string): Promise<CreatedRule>;
  /** Announces, as its neighbours would, that everything may have changed. */
  settle(): Promise<void>;
}
export type Decided = Awaited<ReturnType<Client<typeof policy>['decide']>>;

/** A running policy on its own Postgres and NATS, with stand-ins that answer its neighbours' contracts. */
export async function createPolicyWorld(): Promise<PolicyWorld> {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const config = loadConfig(policyConfig, environment.variables);
  const db = startup.use(
    openDatabase({ url: config.DATABASE_URL, schema: 'policy', connectionsMax: 4 }),
  );
  const neighbours: Neighbours = {
    beings: new Map(),
    services: [],
    templates: [],
    lie: null,
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
  startup.use(await standIn(buses.auth, auth, authHandlers(neighbours), asked));
  startup.use(await standIn(buses.registry, registry, registryHandlers(neighbours, db), asked));
  startup.use(await standIn(buses.executor, executor, executorHandlers(neighbours), asked));
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
  const add = (being: TestIdentity): TestIdentity => {
    neighbours.beings.set(being.id, being);
    return being;
  };
  const sign = (being: TestIdentity, more: Partial<Principal> = {}) =>
    principals.sign({ ...principalOf(being), ...more });

  const running = startup.move();
  return {
    environment,
    db,
    gateway,
    approvals,
    neighbours,
    asked,
    startReplica: () => startPolicy(config),
    bus: (component) => Promise.resolve(buses[component]),
    user: (name = 'ann', more = {}) =>
      add(beingOf('user', name, { orgId, role: 'member', ...more })),
    below: (parent, name, more = {}) =>
      add(
        beingOf(parent.kind === 'user' ? 'agent' : 'subagent', name, {
          orgId: parent.orgId,
          parent,
          ...more,
        }),
      ),
    sign,
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
    decide: (being, call, more = {}) =>
      gateway.decide({ principal: sign(being), call, options: { ...options, ...more } }, soon()),
    rule(maker, on, text) {
      const [effect, pattern = ''] = text.split(' ');
      const body = {
        identity_id: on?.id ?? null,
        effect: effect === 'deny' ? ('deny' as const) : ('allow' as const),
        pattern,
      };
      return gateway.createRule({ principal: sign(maker), body }, soon());
    },
    async settle() {
      for (const [component, subject] of announcements) {
        const { nats } = buses[component];
        nats.publish(subject, '{}');
        await nats.flush();
      }
      // Policy has its own connection: a round trip through it comes after what was sent before.
      await gateway.ping({}, soon());
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

function beingOf(kind: IdentityKind, name: string, more: Partial<TestIdentity>): TestIdentity {
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

export function chainOf(being: TestIdentity): TestIdentity[] {
  return being.parent === null ? [being] : [...chainOf(being.parent), being];
}

const linkOf = ({ id, kind, name, inheritPermissions }: TestIdentity): ChainLink => ({
  id,
  kind,
  name,
  inheritPermissions,
});

function principalOf(being: TestIdentity): Principal {
  return {
    orgId: being.orgId,
    identityId: being.id,
    kind: being.kind,
    userId: chainOf(being)[0]?.id ?? being.id,
    role: being.role,
    chain: chainOf(being).map(linkOf),
    autoCallOnApprove: true,
    credential: { kind: 'agent_key', id: newId(), clientId: null },
    scopes: ['mcp'],
    expiresAt: Date.now() + 5_000,
  };
}

/** Answers the endpoints that policy asks, and no others. */
function standIn<C extends Contract>(
  bus: Bus,
  contract: C,
  handlers: Partial<Handlers<C>>,
  asked: Map<string, number>,
): Promise<AsyncDisposable> {
  const counted = Object.entries(handlers).map(([name, handler]) => [
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
  return serve(bus, { ...contract, endpoints }, Object.fromEntries(counted) as never, { logger });
}

function authHandlers({ beings }: Neighbours): Partial<Handlers<typeof auth>> {
  const get = (orgId: string | null, id: string) => {
    const being = beings.get(id);
    if (being === undefined || (orgId !== null && being.orgId !== orgId)) {
      throw new AppError('not_found', 'There is no such identity.');
    }
    return being;
  };
  return {
    async getChain({ orgId, identityId }) {
      const chain = chainOf(get(orgId, identityId));
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
      const being = get(caller.orgId, id);
      const isOwn = chainOf(being).some((link) => link.id === caller.identityId);
      if (!isOwn && caller.role !== 'admin' && caller.role !== 'auditor') {
        throw new AppError('not_found', 'There is no such identity.');
      }
      return {
        id,
        org_id: being.orgId,
        kind: being.kind,
        name: being.name,
        parent_id: being.parent?.id ?? null,
        owner_id: chainOf(being)[0]?.id ?? id,
        depth: chainOf(being).length - 1,
        path: chainOf(being).map(({ name }) => name),
        inherit_permissions: being.inheritPermissions,
        auto_call_on_approve: true,
        status: being.active ? 'active' : 'revoked',
        created_at: new Date(0).toISOString(),
        last_active_at: null,
        expires_at: null,
        ...(being.role === null ? {} : { role: being.role }),
      };
    },
  };
}

/** What policy was told before: of built-in templates as the files were recorded. */
async function makeKnown(db: Database, orgId: string, template: CompiledTemplate): Promise<void> {
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
      const own = services.find((each) => each.ownerId === userId && each.name === name);
      const found =
        own ??
        services.find((each) => [name, `org/${name}`].includes(each.name) && each.tier === 'org');
      if (found === undefined) {
        throw new AppError('unknown_service', 'There is no such service.', {
          details: { available: services.map((each) => each.name) },
        });
      }
      if (neighbours.areAddressesGiven) {
        await db`
          insert into policy.known_address (id, org_id, base_url)
          values (${newId()}, ${orgId}, ${found.baseUrl})
              on conflict on constraint known_address_key do nothing
        `;
      }
      return found;
    },
    async getCompiledTemplate({ orgId, template: { key, tier, version } }) {
      if (neighbours.lie !== null) return neighbours.lie;
      const found = templates.find(
        (each) => each.key === key && each.tier === tier && each.version === version,
      );
      if (found === undefined) throw new AppError('not_found', 'There is no such template.');
      await makeKnown(db, orgId, found);
      return found;
    },
    async findByHost({ userId, host }) {
      const found = services.filter(
        (each) => each.hosts.includes(host) && (each.ownerId === userId || each.tier === 'org'),
      );
      return {
        services: found.slice(0, 200),
        templates: templates
          .filter((each) => each.hosts.includes(host))
          .map(({ key, tier, ownerId, version }) => ({ key, tier, ownerId, version })),
        isCut: neighbours.isCut || found.length > 200,
      };
    },
    async listConnected({ userId, whose, after }) {
      const isCallable = (each: ServiceRecord) => each.ownerId === userId || each.tier === 'org';
      const listed = services.filter((each) => isCallable(each) === (whose === 'callable'));
      const from = after === null ? 0 : listed.findIndex(({ id }) => id === after) + 1;
      const page = listed.slice(from, from + 200);
      const isLast = from + page.length === listed.length;
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
      const found = names.flatMap((name) => {
        const mine = secrets.filter((each) => each.orgId === orgId);
        const secret =
          mine.find((each) => each.reference === name) ??
          mine.find((each) => each.reference === `org/${name}`);
        return secret === undefined ? [] : [{ ...secret, asked: name }];
      });
      return {
        secrets: found.map(({ asked, reference, id, allowedHosts }) => ({
          asked,
          reference,
          id,
          allowedHosts,
          version: 1,
        })),
      };
    },
    async describeConnections({ orgId, names }) {
      const mine = connections.filter((each) => each.orgId === orgId);
      const found = names.flatMap((asked) => {
        const connection =
          mine.find((each) => each.reference === asked) ??
          mine.find((each) => each.reference === `org/${asked}`);
        if (connection === undefined) return [];
        const { orgId: _, ...description } = connection;
        return [{ asked, ...description }];
      });
      return { connections: found };
    },
    async showRequest({ call, isAskedAbout }) {
      dryRuns.push({ isAskedAbout });
      const url = call.kind === 'http' ? call.target : `https://shown.example/${call.action}`;
      const method = call.kind === 'http' ? call.method : 'GET';
      const none = { params: {}, headers: {}, content_type: null, body: null, credentials: [] };
      return { request: { method, url, ...none } };
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

/** Connects the small GitHub of the tests for a user, with a token that may go to it. */
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
