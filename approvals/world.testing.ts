import { v7 as uuidv7 } from 'uuid';

import { createClient, deadlineIn, serve } from '#bus';
import type { Client, Handlers } from '#bus';
import { loadConfig } from '#config';
import { approvals } from '#contracts/bus/approvals';
import { auth } from '#contracts/bus/auth';
import type { OrgSettings } from '#contracts/bus/auth';
import { executor } from '#contracts/bus/executor';
import { policy } from '#contracts/bus/policy';
import type { Call, CallOptions, CallResult } from '#contracts/call';
import type { DecisionStatement } from '#contracts/decision';
import type { Contract } from '#contracts/define';
import type { Event } from '#contracts/events';
import type { ResolveApprovalBody } from '#contracts/http/approvals';
import type { Gap } from '#contracts/permit';
import { readTtl } from '#contracts/ttl';
import type { ChainLink, Principal, Role } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { AppError } from '#errors';
import type { RunningComponent } from '#process';
import { createSigner, digestOf } from '#signing';
import { createLogger } from '#telemetry';
import { createDecisions, readUnverified } from '../test/support/decisions.ts';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { approvalsConfig } from './config.ts';
import { startApprovals } from './start.ts';

interface Person {
  readonly id: string;
  readonly orgId: string;
  readonly chain: ChainLink[];
  readonly role: Role | null;
  active: boolean;
  /** Archived: not active, but it may be restored. */
  archived?: boolean;
}

/** What `executeFrozen` does for a call; gets the execution id and how often it was asked about it before. */
type Sends = (executionId: string, earlierAttempts: number) => Promise<CallResult>;

export const answered: CallResult = {
  status_code: 201,
  headers: { 'content-type': 'application/json' },
  body: { number: 7 },
  duration_ms: 5,
};

const logger = createLogger({ component: 'test', level: 'silent' });
export const soon = () => deadlineIn(15_000);

/**
 * Approvals on real Postgres and NATS, with stand-ins for its neighbours at their contracts:
 * what they answer is plain state that a test may change.
 */
export async function createWorld({
  replicas = 1,
  variables = {},
}: { replicas?: number; variables?: Record<string, string> } = {}) {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const people = createPeople();
  const neighbours = createNeighbours(people);
  const neighbour = async <C extends Contract>(contract: C, handlers: Partial<Handlers<C>>) => {
    const bus = await environment.connect(contract.owner);
    startup.use(await serve(bus, contract, handlers as Handlers<C>, { logger }));
  };
  await neighbour(auth, neighbours.auth);
  await neighbour(policy, neighbours.policy);
  await neighbour(executor, neighbours.executor);

  const config = loadConfig(approvalsConfig, {
    ...environment.variables,
    BASE_URL: 'https://gateway.test',
    ...variables,
  });
  const started: RunningComponent[] = [];
  const own = startup.use(new AsyncDisposableStack());
  const startReplica = async () => {
    const replica = own.use(await startApprovals(config));
    started.push(replica);
    return replica;
  };
  for (let count = 0; count < replicas; count += 1) await startReplica();

  const sql = startup.use(
    openDatabase({ url: environment.adminUrl, schema: 'approvals', connectionsMax: 4 }),
  );
  const gateway = await environment.connect('gateway');
  const client = createClient(gateway, approvals);
  const running = startup.move();
  return {
    ...people,
    environment,
    neighbours: neighbours.state,
    sql,
    client,
    startReplica,
    replicas: started,
    ...createCallers({ client, environment }),
    ...createReaders(sql),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
export type World = Awaited<ReturnType<typeof createWorld>>;

function createPeople() {
  const orgId = uuidv7();
  const otherOrgId = uuidv7();
  const person = (
    name: string,
    {
      parent,
      role = null,
      org = orgId,
      inherits = false,
    }: { parent?: Person; role?: Role | null; org?: string; inherits?: boolean },
  ): Person => {
    const id = uuidv7();
    const depth = parent?.chain.length ?? 0;
    const kind = depth === 0 ? 'user' : depth === 1 ? 'agent' : 'subagent';
    return {
      id,
      orgId: org,
      role,
      chain: [...(parent?.chain ?? []), { id, kind, name, inheritPermissions: inherits }],
      active: true,
    };
  };
  const ann = person('ann', { role: 'member' });
  const bot = person('bot', { parent: ann });
  const helper = person('helper', { parent: bot });
  const sibling = person('sibling', { parent: bot });
  const bob = person('bob', { role: 'member' });
  const bobsBot = person('bobs-bot', { parent: bob });
  const admin = person('admin', { role: 'admin' });
  const adminsBot = person('admins-bot', { parent: admin });
  const auditor = person('auditor', { role: 'auditor' });
  const auditorsBot = person('auditors-bot', { parent: auditor });
  const stranger = person('stranger', { role: 'admin', org: otherOrgId });
  return {
    ann,
    bot,
    helper,
    sibling,
    bob,
    bobsBot,
    admin,
    adminsBot,
    auditor,
    auditorsBot,
    stranger,
  };
}

function createNeighbours(people: ReturnType<typeof createPeople>) {
  const state = {
    settings: {
      approvalTtlSeconds: 86_400,
      autoBubbleSeconds: 300,
      rememberTtlSeconds: 2_592_000,
      selfRememberMaxSeconds: 86_400,
      durableReadAudit: false,
    } as OrgSettings,
    /** The switch of whoever asks. */
    selfApproval: false,
    /** Agents hold these keys (prefixes) until then; null is for ever. */
    authority: new Map<string, { prefixes: string[]; untilMs: number | null }>(),
    /** What policy was asked to plant, as it reads it. */
    planted: [] as { gap: Gap; decision: DecisionStatement }[],
    plantingFails: false,
    /** Throws, or answers with a denial, instead of permitting. */
    permits: async (
      _executionId: string,
    ): Promise<{ outcome: 'denied'; reason: string } | undefined> => undefined,
    /** With the decision as policy reads it. */
    permitRequests: [] as (Parameters<Client<typeof policy>['permitReplay']>[0] & {
      decided: DecisionStatement;
    })[],
    sends: (async () => answered) as Sends,
    /** Every `executeFrozen`, by execution id. */
    asked: [] as string[],
    previews: 0,
    /** The executor shows no more than an outline of what is raised now. */
    showsOutlines: false,
    /** Idempotency keys as the executor keeps them. */
    keys: new Map<string, string>(),
  };
  const unpermitted = (): never => {
    throw new AppError('not_found', 'There is no such identity.');
  };
  return {
    state,
    auth: {
      getChain: async ({ orgId, identityId }) => {
        const found = Object.values(people).find(
          (each) => each.id === identityId && each.orgId === orgId,
        );
        if (!found) return unpermitted();
        const { chain, role } = found;
        const links = chain.map((link) => Object.values(people).find(({ id }) => id === link.id));
        const active = links.every((link) => link?.active && link.archived !== true);
        const standing = links.some((link) => !link?.active) ? 'revoked' : 'archived';
        return { chain, role, active, standing: active ? 'active' : standing, selfApproving: [] };
      },
      getOrgSettings: async () => state.settings,
      getSelfApproval: async () => ({ enabled: state.selfApproval }),
    } satisfies Partial<Handlers<typeof auth>>,
    policy: {
      checkAuthority: async ({ identityId, keys }) => {
        const held = state.authority.get(identityId) ?? { prefixes: [], untilMs: null };
        const uncovered = keys.filter(
          (key) => !held.prefixes.some((prefix) => key.startsWith(prefix)),
        );
        return { covers: uncovered.length === 0, uncovered, untilMs: held.untilMs };
      },
      plantRules: async (request) => {
        if (state.plantingFails) throw new AppError('unavailable', 'Not now.');
        const decision = readUnverified<DecisionStatement>(request.decision);
        state.planted.push({ gap: readUnverified<Gap>(request.gap), decision });
        return { ruleIds: decision.patterns.map(() => uuidv7()) };
      },
      permitReplay: async (request) => {
        const decided = readUnverified<DecisionStatement>(request.decision);
        state.permitRequests.push({ ...request, decided });
        const refused = await state.permits(request.executionId);
        if (refused) return refused;
        return {
          outcome: 'permit',
          permit: `permit for ${request.executionId}`,
          auditId: uuidv7(),
        };
      },
    } satisfies Partial<Handlers<typeof policy>>,
    executor: {
      preview: async ({ call, options, approvalId }) => {
        state.previews += 1;
        const seen =
          options.idempotencyKey === null ? undefined : state.keys.get(options.idempotencyKey);
        if (seen !== undefined && seen !== approvalId) {
          return { kind: 'seen', outcome: { kind: 'suspended', approvalId: seen } };
        }
        if (options.idempotencyKey !== null) state.keys.set(options.idempotencyKey, approvalId);
        return {
          kind: 'preview',
          request: {
            method: 'POST',
            url: 'https://api.example.com/issues',
            params: {},
            body: { title: 'a\0b' },
            headers: { sudo: 'root' },
            content_type: 'application/json',
            credentials: [
              {
                kind: 'connection',
                name: 'github',
                account: 'ann',
                in: 'header',
                key: 'Authorization',
                prefix: 'Bearer ',
              },
            ],
            ...(state.showsOutlines ? { too_large: true as const, shortened: [] } : {}),
          },
          disclosed: [{ label: 'Title', value: 'NUL \0 and \ud800', truncated: false }],
          description: 'Create an issue',
          sealedCall: `sealed ${digestOf(call)}`,
          requestDigest: digestOf(call),
          cardMac: `key:${'m'.repeat(43)}`,
        };
      },
      executeFrozen: async ({ permit }) => {
        const executionId = permit.replace('permit for ', '');
        const earlierAttempts = state.asked.filter((id) => id === executionId).length;
        state.asked.push(executionId);
        const result = await state.sends(executionId, earlierAttempts);
        return { kind: 'called', result, auditId: uuidv7(), replayed: earlierAttempts > 0 };
      },
    } satisfies Partial<Handlers<typeof executor>>,
  };
}

interface CallSpec {
  readonly arg?: string;
  readonly risk?: Gap['risk'];
  readonly auto?: boolean;
  readonly covering?: readonly Person[];
  readonly placement?: Person;
  readonly idempotencyKey?: string;
  readonly change?: Partial<Gap>;
}

function createCallers({
  client,
  environment,
}: {
  client: Client<typeof approvals>;
  environment: Pick<TestEnvironment, 'keys'>;
}) {
  const principals = createSigner<Principal>('principal', ...environment.keys.principal);
  const gaps = createSigner<Gap>('gap', ...environment.keys.gap);
  const as = (person: Person, change: Partial<Principal> = {}) =>
    principals.sign(principalOf(person, change));
  const context = { requestId: 'req-1', traceId: null, ip: '192.0.2.1' };
  const raiseRequest = (person: Person, spec: CallSpec = {}) => {
    const call = callOf(spec);
    const gap = gapOf(person, call, spec);
    const options: CallOptions = {
      timeoutMs: 5_000,
      maxRisk: null,
      idempotencyKey: spec.idempotencyKey ?? null,
    };
    return { principal: as(person), gap: gaps.sign(gap), call, options, context };
  };
  const raise = (person: Person, spec: CallSpec = {}) =>
    client.raise(raiseRequest(person, spec), soon());
  const decisions = createDecisions(environment);
  /** As the gateway has auth sign it; null for what is no allow, or where nothing can be read. */
  const allowOf = async (
    person: Person,
    id: string,
    {
      as: how,
      body,
      clientId = null,
    }: { as: 'ancestor' | 'self'; body: ResolveApprovalBody; clientId?: string | null },
  ): Promise<string | null> => {
    if (!body.resolution.startsWith('allow')) return null;
    const read = await client.get({ principal: as(person), id }, soon()).catch(() => null);
    if (!read?.proof) return null;
    const isRemembered = body.resolution !== 'allow' && body.resolution !== 'allow_once';
    const ttl = readTtl(body.ttl ?? '30d');
    const ends = Date.now() + ('seconds' in ttl ? ttl.seconds * 1000 : 0);
    return decisions.signOn(
      '',
      { ...person, kind: (person.chain.at(-1) as ChainLink).kind },
      {
        gapDigest: read.proof.gapDigest,
        requestDigest: read.proof.requestDigest,
        approvalId: id,
        as: how,
        clientId,
        acknowledge: body.acknowledge ?? null,
        ...(isRemembered && {
          resolution: 'allow_remember',
          patterns: body.remember_keys ?? read.suggested_tiers[0]?.keys ?? [],
          cascade: how === 'ancestor' && body.cascade !== false,
          expiresAt: body.resolution === 'allow_always' && body.ttl === undefined ? null : ends,
        }),
      },
    );
  };
  return {
    as,
    gaps,
    decisions,
    context,
    raiseRequest,
    raise,
    /** The id of a newly raised approval. */
    suspend: async (person: Person, spec: CallSpec = {}): Promise<string> => {
      const state = await raise(person, spec);
      if (state.kind !== 'pending') throw new Error(`expected an envelope, got ${state.kind}`);
      return state.envelope.approval_id;
    },
    allowOf,
    resolve: async (person: Person, id: string, body: ResolveApprovalBody) =>
      client.resolve(
        {
          principal: as(person),
          id,
          as: 'ancestor',
          body,
          context,
          decision: await allowOf(person, id, { as: 'ancestor', body }),
        },
        soon(),
      ),
    resume: (person: Person, id: string) =>
      client.resume({ principal: as(person), id, context }, soon()),
    run: (person: Person, id: string) => client.run({ principal: as(person), id, context }, soon()),
    cancel: (person: Person, id: string) =>
      client.cancel({ principal: as(person), id, context }, soon()),
    get: (person: Person, id: string) => client.get({ principal: as(person), id }, soon()),
    list: (person: Person, query: Partial<Parameters<typeof client.list>[0]> = {}) =>
      client.list(
        {
          principal: as(person),
          page: { limit: 50, cursor: null },
          status: null,
          requesterId: null,
          assignedToMe: false,
          service: null,
          ...query,
        },
        soon(),
      ),
  };
}

function createReaders(sql: Database) {
  return {
    /** Deletes rather than truncates: the clocks of running replicas hold locks of their own. */
    clear: async () => {
      await sql`delete from approvals.execution`;
      await sql`delete from approvals.approval`;
      await sql`delete from approvals.outbox`;
    },
    /** The events of an approval in the order they were stored. */
    eventsOf: async (approvalId: string): Promise<Event[]> => {
      const rows = await sql<{ body: string }[]>`select body from approvals.outbox order by id`;
      return rows
        .map((row) => JSON.parse(row.body) as Event)
        .filter((event) => (event.data['approval_id'] ?? event.data['id']) === approvalId);
    },
    until: async <T>(read: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> => {
      for (let waited = 0; ; waited += 50) {
        const value = await read();
        if (isDone(value)) return value;
        if (waited > 15_000) throw new Error(`not reached: ${JSON.stringify(value)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
  };
}

function principalOf(person: Person, change: Partial<Principal>): Principal {
  const self = person.chain.at(-1) as ChainLink;
  return {
    orgId: person.orgId,
    identityId: person.id,
    kind: self.kind,
    userId: (person.chain[0] as ChainLink).id,
    role: person.role,
    chain: person.chain,
    autoCallOnApprove: true,
    credential: { kind: 'agent_key', id: person.id, clientId: null },
    scopes: ['mcp'],
    expiresAt: Date.now() + 60_000,
    ...change,
  };
}

function callOf({ arg = 'acme/site' }: CallSpec): Call {
  return {
    kind: 'action',
    service: 'github',
    action: 'issues.create',
    params: { repo: arg },
    filter: null,
  };
}

const serviceId = uuidv7();
const secretId = uuidv7();

function gapOf(person: Person, call: Call, spec: CallSpec): Gap {
  const key = `github:issues.create:${spec.arg ?? 'acme/site'}`;
  const covering = new Set((spec.covering ?? []).map((each) => each.id));
  const placement = (spec.placement ?? person).chain.at(-1) as ChainLink;
  return {
    orgId: person.orgId,
    userId: (person.chain[0] as ChainLink).id,
    identityId: person.id,
    chain: person.chain,
    credential: { kind: 'agent_key', id: person.id, clientId: null },
    callDigest: digestOf(call),
    idempotencyKey: spec.idempotencyKey ?? null,
    target: {
      kind: 'action',
      service: 'github',
      serviceId,
      template: { key: 'github', tier: 'global', ownerId: null, version: 1 },
      action: 'issues.create',
      baseUrl: 'https://api.example.com',
    },
    templateDigest: 'd'.repeat(64),
    injections: [
      {
        kind: 'secret' as const,
        credentialId: secretId,
        credentialName: 'github_token',
        in: 'header',
        key: 'authorization',
        prefix: 'Bearer ',
        encoding: 'raw',
      },
    ],
    hosts: ['api.example.com'],
    keys: [key],
    derivedKeys: [
      { key, service: 'github', action: 'issues.create', arg: spec.arg ?? 'acme/site' },
    ],
    risk: spec.risk ?? 'write',
    nonRead: (spec.risk ?? 'write') !== 'read',
    description: 'Create an issue',
    jti: uuidv7(),
    uncoveredKeys: [key],
    suggestedTiers: [
      { keys: [key], description: 'This repository' },
      { keys: ['github:issues.create:*'], description: 'Any repository' },
      { keys: ['github:*:*'], description: 'All of GitHub' },
    ],
    placement: { id: placement.id, kind: placement.kind, name: placement.name },
    ladder: person.chain
      .slice(0, -1)
      .toReversed()
      .map(({ id, kind, name }) => ({ id, kind, name, covers: covering.has(id) })),
    lookUpsAllowed: false,
    autoCallOnApprove: spec.auto ?? true,
    issuedAt: Date.now(),
    ...spec.change,
  };
}
