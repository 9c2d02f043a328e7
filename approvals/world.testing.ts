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
import type { ChainLink, Principal, Role } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import type { Database } from '#database';
import { AppError } from '#errors';
import type { RunningComponent } from '#process';
import { createSigner, digestOf } from '#signing';
import { createLogger } from '#telemetry';
import { parseTtl } from '#ttl';
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
  /** An archived identity is not active, but may be restored. */
  archived?: boolean;
}

type SendCall = (executionId: string, earlierAttempts: number) => Promise<CallResult>;

export const sampleResult: CallResult = {
  status_code: 201,
  headers: { 'content-type': 'application/json' },
  body: { number: 7 },
  duration_ms: 5,
};

const logger = createLogger({ component: 'test', level: 'silent' });
export const testDeadline = () => deadlineIn(15_000);

/**
 * Starts approvals on real Postgres and NATS, with simulated other components. A test may change
 * the state from which these answer.
 */
export async function createWorld({
  replicas = 1,
  variables = {},
}: { replicas?: number; variables?: Record<string, string> } = {}) {
  await using startup = new AsyncDisposableStack();
  const environment = startup.use(await createTestEnvironment());
  const people = createPeople();
  const standIns = createStandIns(people);
  const startStandIn = async <C extends Contract>(contract: C, handlers: Partial<Handlers<C>>) => {
    const bus = await environment.connect(contract.owner);
    startup.use(await serve(bus, contract, handlers as Handlers<C>, { logger }));
  };
  await startStandIn(auth, standIns.auth);
  await startStandIn(policy, standIns.policy);
  await startStandIn(executor, standIns.executor);

  const config = loadConfig(approvalsConfig, {
    ...environment.variables,
    BASE_URL: 'https://gateway.test',
    ...variables,
  });
  const startedComponents: RunningComponent[] = [];
  const startedReplicas = startup.use(new AsyncDisposableStack());
  const startReplica = async () => {
    const replica = startedReplicas.use(await startApprovals(config));
    startedComponents.push(replica);
    return replica;
  };
  for (let count = 0; count < replicas; count += 1) await startReplica();

  const sql = startup.use(
    openDatabase({ url: environment.adminUrl, schema: 'approvals', connectionsMax: 4 }),
  );
  const gateway = await environment.connect('gateway');
  const client = createClient(gateway, approvals);
  const runningStack = startup.move();
  return {
    ...people,
    environment,
    neighbours: standIns.state,
    sql,
    client,
    startReplica,
    replicas: startedComponents,
    ...createCallers({ client, environment }),
    ...createReaders(sql),
    [Symbol.asyncDispose]: () => runningStack.disposeAsync(),
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

function createStandIns(people: ReturnType<typeof createPeople>) {
  const state = {
    settings: {
      approvalTtlSeconds: 86_400,
      autoBubbleSeconds: 300,
      rememberTtlSeconds: 2_592_000,
      selfRememberMaxSeconds: 86_400,
      durableReadAudit: false,
    } as OrgSettings,
    /** Whether self-approval is switched on for the caller. */
    selfApproval: false,
    /**
     * The prefixes of the permission keys that an agent's authority covers, and the end of that
     * authority; null means that it never ends.
     */
    authority: new Map<string, { prefixes: string[]; untilMs: number | null }>(),
    /** The sentence of the calls that are shown. */
    description: 'Create an issue',
    /** For each call that policy explained, its requester. */
    explained: [] as string[],
    /** The parsed gaps and decisions from which policy was asked to create rules. */
    planted: [] as { gap: Gap; decision: DecisionStatement }[],
    plantingFails: false,
    /**
     * Policy's answer to a request for a permit. A test may make it throw or deny; undefined
     * permits the call.
     */
    permits: async (
      _executionId: string,
    ): Promise<{ outcome: 'denied'; reason: string } | undefined> => undefined,
    /** The requests for permits, with the decision parsed. */
    permitRequests: [] as (Parameters<Client<typeof policy>['permitReplay']>[0] & {
      decided: DecisionStatement;
    })[],
    sends: (async () => sampleResult) as SendCall,
    /** The execution id of every `executeFrozen` request. */
    asked: [] as string[],
    previews: 0,
    /** Whether the executor shows only an outline of new requests. */
    showsOutlines: false,
    /** The approval ids by the idempotency keys that the executor has seen. */
    keys: new Map<string, string>(),
    /** Whether the executor knows calls that join an approval; that of release 0.1.0 does not. */
    knowsJoining: true,
  };
  const unpermitted = (): never => {
    throw new AppError('not_found', 'There is no such identity.');
  };
  return {
    state,
    auth: {
      getChain: async ({ orgId, identityId }) => {
        const person = Object.values(people).find(
          (each) => each.id === identityId && each.orgId === orgId,
        );
        if (!person) return unpermitted();
        const { chain, role } = person;
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
        const heldAuthority = state.authority.get(identityId) ?? { prefixes: [], untilMs: null };
        const uncovered = keys.filter(
          (key) => !heldAuthority.prefixes.some((prefix) => key.startsWith(prefix)),
        );
        return { covers: uncovered.length === 0, uncovered, untilMs: heldAuthority.untilMs };
      },
      explainGap: async (request) => {
        const { orgId, identityId, uncoveredKeys } = readUnverified<Gap>(request.gap);
        if (orgId !== request.orgId) throw new AppError('not_found', 'There is no such approval.');
        state.explained.push(identityId);
        return { why: uncoveredKeys.map((key) => ({ key, effect: 'gap' as const })) };
      },
      plantRules: async (request) => {
        if (state.plantingFails) throw new AppError('unavailable', 'Not now.');
        const decision = readUnverified<DecisionStatement>(request.decision);
        state.planted.push({ gap: readUnverified<Gap>(request.gap), decision });
        return { ruleIds: decision.patterns.map(() => uuidv7()) };
      },
      permitReplay: async (request) => {
        const decisionStatement = readUnverified<DecisionStatement>(request.decision);
        state.permitRequests.push({ ...request, decided: decisionStatement });
        const permitError = await state.permits(request.executionId);
        if (permitError) return permitError;
        return {
          outcome: 'permit',
          permit: `permit for ${request.executionId}`,
          auditId: uuidv7(),
        };
      },
    } satisfies Partial<Handlers<typeof policy>>,
    executor: {
      preview: async ({ call, options, approvalId, joining }) => {
        const seenApprovalId =
          options.idempotencyKey === null ? undefined : state.keys.get(options.idempotencyKey);
        if (joining && !state.knowsJoining && seenApprovalId === undefined) {
          throw new AppError('unauthenticated', 'Not this approval.');
        }
        if (joining && state.knowsJoining) {
          const isFree = seenApprovalId === undefined || seenApprovalId === joining.unstoredId;
          const holder = isFree ? approvalId : seenApprovalId;
          if (options.idempotencyKey !== null && !joining.isDenied)
            state.keys.set(options.idempotencyKey, holder);
          return { kind: 'seen', outcome: { kind: 'suspended', approvalId: holder } };
        }
        state.previews += 1;
        if (seenApprovalId !== undefined && seenApprovalId !== approvalId) {
          return { kind: 'seen', outcome: { kind: 'suspended', approvalId: seenApprovalId } };
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
          description: state.description,
          sealedCall: `sealed ${digestOf(call)}`,
          requestDigest: digestOf(call),
          cardMac: `key:${'m'.repeat(43)}`,
          serviceTitle: { title: 'GitHub', mac: `key:${'t'.repeat(43)}` },
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
    principals.sign(createPrincipal(person, change));
  const context = { requestId: 'req-1', traceId: null, ip: '192.0.2.1' };
  const raiseRequest = (person: Person, spec: CallSpec = {}) => {
    const call = createCall(spec);
    const gap = createGap(person, call, spec);
    const options: CallOptions = {
      timeoutMs: 5_000,
      maxRisk: null,
      idempotencyKey: spec.idempotencyKey ?? null,
    };
    return { principal: as(person), gap: gaps.sign(gap), call, options, context };
  };
  const raise = (person: Person, spec: CallSpec = {}) =>
    client.raise(raiseRequest(person, spec), testDeadline());
  const decisions = createDecisions(environment);
  /**
   * The signed decision for an `allow`, as auth signs it; null for other decisions and for
   * approvals that cannot be read.
   */
  const signedAllowOf = async (
    person: Person,
    id: string,
    {
      as: how,
      body,
      clientId = null,
    }: { as: 'ancestor' | 'self'; body: ResolveApprovalBody; clientId?: string | null },
  ): Promise<string | null> => {
    if (!body.resolution.startsWith('allow')) return null;
    const read = await client.get({ principal: as(person), id }, testDeadline()).catch(() => null);
    if (!read?.proof) return null;
    const isRemembered = body.resolution !== 'allow' && body.resolution !== 'allow_once';
    const endsAtMs = Date.now() + secondsOrZero(body.ttl ?? '30d') * 1000;
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
          expiresAt: body.resolution === 'allow_always' && body.ttl === undefined ? null : endsAtMs,
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
    /** Raises an approval and returns its id. */
    suspend: async (person: Person, spec: CallSpec = {}): Promise<string> => {
      const state = await raise(person, spec);
      if (state.kind !== 'pending') throw new Error(`expected an envelope, got ${state.kind}`);
      return state.envelope.approval_id;
    },
    allowOf: signedAllowOf,
    resolve: async (person: Person, id: string, body: ResolveApprovalBody) =>
      client.resolve(
        {
          principal: as(person),
          id,
          as: 'ancestor',
          body,
          context,
          decision: await signedAllowOf(person, id, { as: 'ancestor', body }),
        },
        testDeadline(),
      ),
    resume: (person: Person, id: string) =>
      client.resume({ principal: as(person), id, context }, testDeadline()),
    run: (person: Person, id: string) =>
      client.run({ principal: as(person), id, context }, testDeadline()),
    cancel: (person: Person, id: string) =>
      client.cancel({ principal: as(person), id, context }, testDeadline()),
    explain: (person: Person, id: string) =>
      client.explain({ principal: as(person), id }, testDeadline()),
    get: (person: Person, id: string) => client.get({ principal: as(person), id }, testDeadline()),
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
        testDeadline(),
      ),
  };
}

function createReaders(sql: Database) {
  return {
    /** Uses `delete` instead of `truncate`, because running replicas hold locks on the tables. */
    clear: async () => {
      await sql`delete from approvals.execution`;
      await sql`delete from approvals.approval`;
      await sql`delete from approvals.outbox`;
    },
    /** The events of an approval in the order in which they were stored. */
    eventsOf: async (approvalId: string): Promise<Event[]> => {
      const rows = await sql<{ body: string }[]>`select body from approvals.outbox order by id`;
      return rows
        .map((row) => JSON.parse(row.body) as Event)
        .filter((event) => (event.data['approval_id'] ?? event.data['id']) === approvalId);
    },
    until: async <T>(read: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> => {
      for (let waitedMs = 0; ; waitedMs += 50) {
        const value = await read();
        if (isDone(value)) return value;
        if (waitedMs > 60_000) throw new Error(`not reached: ${JSON.stringify(value)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
  };
}

function createPrincipal(person: Person, change: Partial<Principal>): Principal {
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

function createCall({ arg = 'acme/site' }: CallSpec): Call {
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

function createGap(person: Person, call: Call, spec: CallSpec): Gap {
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

/** Zero for an invalid `ttl`, which approvals must refuse although the decision is signed. */
function secondsOrZero(ttl: string): number {
  try {
    return parseTtl(ttl);
  } catch {
    return 0;
  }
}
