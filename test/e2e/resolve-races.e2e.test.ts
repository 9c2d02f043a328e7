import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import { approvalsConfig } from '../../approvals/config.ts';
import { startApprovals } from '../../approvals/start.ts';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import { createCaller, createCallerWithKey } from '../support/http.ts';
import { signInAsUser } from '../support/clients.ts';
import { openEvents } from '../support/events.ts';
import type { ReceivedEvents } from '../support/events.ts';
import type { Person } from '../support/people.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { createMcpResolver, createRestResolver } from '../support/resolvers.ts';
import type { Resolver, Verdict } from '../support/resolvers.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/** The number of approvals; `npm run test:resolve-races` sets it to 1,000. */
const approvalCount = Number(process.env['RESOLVE_RACE_APPROVALS'] ?? 12);
const resolversAtOnce = 20;
const mixedDecisions = ['allow', 'deny', 'allow_remember', 'deny', 'allow'] as const;
/**
 * The groups of resolvers that decide at once. They vary, because the resolver with the fewest
 * lookups wins nearly every race. The length of `decisions` never divides the number of resolvers,
 * so that each resolver makes each decision in some race.
 */
const races = [
  { names: ['owner', 'parent agent', 'admin'], decisions: mixedDecisions },
  { names: ['parent agent', 'admin'], decisions: ['allow', 'allow_remember', 'allow'] },
  { names: ['admin'], decisions: mixedDecisions },
] as const;

interface RaceResult {
  readonly id: string;
  readonly path: string;
  /** The approval as the winner's answer shows it. */
  readonly winningVerdict: Verdict;
  /** The resolver that won the race: an identity, a protocol and a gateway. */
  readonly by: Resolver;
}

/**
 * Exactly one decision on an approval counts, however many resolvers decide at once and at
 * whichever gateway (docs/reference/approvals.md#decisions).
 */
describe('two gateways and two replicas of approvals', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let requester: Agent;
  let resolvers: Resolver[];
  let events: ReceivedEvents;

  beforeAll(async () => {
    world = stack.use(
      await startWorld({
        APPROVALS_OPEN_PER_REQUESTER: '10000',
        APPROVALS_OPEN_PER_SUBTREE: '10000',
        APPROVALS_RAISED_PER_HOUR: '0',
        RATE_REGISTER_PER_HOUR: '0',
      }),
    );
    const { admin, environment, upstream } = world;
    stack.use(await startApprovals(loadConfig(approvalsConfig, environment)));
    const settings = { ...environment, PORT: String(await lastingPort()) };
    const { url: second } = stack.use(await startGateway(loadConfig(gatewayConfig, settings)));

    const owner = await world.person({ orgId: admin.orgId, name: 'owner', role: 'member' });
    const parent = await createAgent(world.url, owner, 'parent');
    const pattern = `http:POST:${upstream.host}/**`;
    const rule = { identity_id: parent.id, effect: 'allow', pattern };
    successfulBodyOf(await owner.post('/v1/rules', rule));
    const child = { name: 'child', parent_id: parent.id, inherit_permissions: false };
    const { id } = successfulBodyOf(await owner.post('/v1/identities/subagents', child));
    const { key } = successfulBodyOf(
      await owner.post(`/v1/identities/${id}/keys`, { name: 'test' }),
    );
    requester = { id, key, ...createCallerWithKey(world.url, key) };

    resolvers = await resolversAt([world.url, second], { owner, parent });
    events = stack.use(await openEvents(second, admin, 'approval.resolved'));
  });
  afterAll(() => stack.disposeAsync());

  /** Returns everyone who may decide, over REST and over MCP, at each gateway. */
  async function resolversAt(
    urls: readonly string[],
    { owner, parent }: { owner: Person; parent: Agent },
  ): Promise<Resolver[]> {
    const { admin } = world;
    const tokens = await Promise.all(
      [owner, admin].map((person) => signInAsUser({ url: world.url, admin: person })),
    );
    const [ofOwner, ofAdmin] = tokens.map(({ token }) => token);
    return urls.flatMap((url) => {
      const sessionOf = ({ cookie }: Person) => createCaller(url, { cookie, origin: url });
      return [
        createRestResolver({ name: 'owner', id: owner.id }, sessionOf(owner)),
        createMcpResolver({ name: 'parent agent', id: parent.id }, url, parent.key),
        createRestResolver({ name: 'admin', id: admin.id }, sessionOf(admin)),
        createMcpResolver({ name: 'owner', id: owner.id }, url, ofOwner ?? ''),
        createRestResolver(
          { name: 'parent agent', id: parent.id },
          createCallerWithKey(url, parent.key),
        ),
        createMcpResolver({ name: 'admin', id: admin.id }, url, ofAdmin ?? ''),
      ];
    });
  }

  async function raiseApproval(number: number): Promise<{ id: string; path: string }> {
    const path = `/race/${number}`;
    const url = world.upstream.url + path;
    const { approval_id: id } = successfulBodyOf(
      await requester.post('/v1/actions/call', { service: 'http', method: 'POST', url }),
    );
    return { id, path };
  }

  /**
   * Lets all resolvers decide on one approval at once. Each race starts with another resolver and
   * gives the resolvers other decisions.
   */
  async function runRace(number: number): Promise<RaceResult> {
    const { id, path } = await raiseApproval(number);
    const { names, decisions } = races[number % races.length] ?? races[0];
    const resolversInRace = resolvers.filter(({ name }) => names.some((each) => each === name));
    const racingDecisions = Array.from({ length: resolversAtOnce }, (_, index) => {
      const by = resolversInRace[(number * 5 + index) % resolversInRace.length] as Resolver;
      return { by, decision: decisions[(number + index) % decisions.length] ?? 'deny' };
    });
    // In every fourth race somebody also bubbles the approval up. Bubbling up is no decision, so it
    // must neither win nor change the winner.
    const bubbleVerdict = number % 4 === 0 ? resolvers[0]?.decide(id, 'bubble') : undefined;
    const verdicts = await Promise.all(
      racingDecisions.map(({ by, decision }) => by.decide(id, decision)),
    );

    const winningDecisions = racingDecisions.filter(
      (_, index) => verdicts[index]?.error === undefined,
    );
    const outcomes = verdicts.map(({ error, status }) => error ?? status).join();
    expect(winningDecisions, outcomes).toHaveLength(1);
    const won = verdicts.find(({ error }) => error === undefined) as Verdict;
    const { by, decision } = winningDecisions[0] as (typeof winningDecisions)[number];
    expect(won).toMatchObject({
      http: 200,
      id,
      resolution: decision,
      resolved_by: { id: by.id },
      status: decision === 'deny' ? 'denied' : 'allowed',
    });
    const { status, resolution, resolved_by: resolvedBy, resolved_at: resolvedAt } = won;
    const lateDecision = {
      error: 'already_resolved',
      approval_id: id,
      status,
      resolution,
      resolved_by: resolvedBy,
      resolved_at: resolvedAt,
    };
    for (const [index, verdict] of verdicts.entries()) {
      if (verdict === won) continue;
      const expectedHttpStatus = racingDecisions[index]?.by.way === 'REST' ? 409 : 200;
      expect(verdict).toMatchObject({ http: expectedHttpStatus, ...lateDecision });
    }
    const bubbled = await bubbleVerdict;
    if (bubbled?.error === 'already_resolved')
      expect(bubbled).toMatchObject({ http: 409, ...lateDecision });
    else if (bubbled) expect([bubbled.error, bubbled.status]).toEqual([undefined, 'bubbled']);
    return { id, path, winningVerdict: won, by };
  }

  test(
    `each of ${approvalCount} approvals has one decision although ${resolversAtOnce} resolvers decide at once`,
    { timeout: 60_000 + approvalCount * 1_000 },
    async () => {
      const startedAt = Date.now();
      const raceResults: RaceResult[] = [];
      for (let number = 0; number < approvalCount; number += 1)
        raceResults.push(await runRace(number));
      const seconds = (Date.now() - startedAt) / 1_000;

      await expectOneOfEach(raceResults);
      process.stdout.write(renderReport(raceResults, seconds));
    },
  );

  /** Checks the tables, the event stream and the upstream for every approval. */
  async function expectOneOfEach(raceResults: readonly RaceResult[]): Promise<void> {
    const { admin, tables, upstream } = world;
    const allowed = raceResults.filter(({ winningVerdict: won }) => won.status === 'allowed');
    const expected = raceResults
      .map(({ id, winningVerdict: won, by }) => ({ id, status: won.status, by: by.id }))
      .toSorted((a, b) => a.id.localeCompare(b.id));
    const rememberedCount = allowed
      .filter(({ winningVerdict: won }) => won.resolution === 'allow_remember')
      .map(({ id }) => id)
      .toSorted();

    await pollUntil(async () => {
      const [row] = await tables.query(
        `select count(*)::int as "running" from approvals.execution where finished_at is null`,
      );
      return row.running === 0;
    }, 'the end of every execution');
    for (const { path, winningVerdict: won } of raceResults) {
      const hitsCount = upstream.hits.filter(({ url }) => url === path).length;
      expect(hitsCount, `${path} ${won.status}`).toBe(won.status === 'allowed' ? 1 : 0);
    }

    const listAuditRows = () =>
      tables.query(
        `select approval_id as "id", identity ->> 'id' as "by",
                case outcome when 'denied' then 'denied' else 'allowed' end as "status"
           from audit.record where type = 'approval.resolved' order by approval_id`,
      );
    await pollUntil(
      async () => (await listAuditRows()).length >= raceResults.length,
      'the audit rows',
    );
    expect(await listAuditRows()).toEqual(expected);
    expect(successfulBodyOf(await admin.get('/v1/audit/verify'))).toMatchObject({ valid: true });

    const listResolvedEvents = () => events.of('approval.resolved');
    await pollUntil(() => listResolvedEvents().length >= raceResults.length, 'the events');
    const outcomes = listResolvedEvents()
      .map(({ data }) => ({
        id: data.approval_id,
        status: data.status,
        by: data.resolved_by.id,
      }))
      .toSorted((a, b) => a.id.localeCompare(b.id));
    expect(outcomes).toEqual(expected);

    const rules = await tables.query(
      'select approval_id as "id" from policy.rule where approval_id is not null order by 1',
    );
    expect(rules.map(({ id }) => id)).toEqual(rememberedCount);
  }
});

function renderReport(raceResults: readonly RaceResult[], seconds: number): string {
  const winningDecisions = new Map<string, number>();
  for (const { by, winningVerdict: won } of raceResults) {
    const winnerLabel = `${by.name} by ${by.way}: ${won.status}`;
    winningDecisions.set(winnerLabel, (winningDecisions.get(winnerLabel) ?? 0) + 1);
  }
  const lines = [...winningDecisions]
    .map(([winnerLabel, count]) => `  ${winnerLabel} ${count}\n`)
    .toSorted((a, b) => a.localeCompare(b));
  const decisionsMade = raceResults.length * resolversAtOnce;
  return `${raceResults.length} approvals, ${decisionsMade} decisions in ${seconds.toFixed(1)} s; won by\n${lines.join('')}`;
}
