import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import { approvalsConfig } from '../../approvals/config.ts';
import { startApprovals } from '../../approvals/start.ts';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import { createCaller, withKey } from '../support/http.ts';
import { signInAsUser } from './support/clients.ts';
import { openEvents } from './support/events.ts';
import type { ReceivedEvents } from './support/events.ts';
import type { Person } from './support/people.ts';
import { freePort } from './support/port.ts';
import { byMcp, byRest } from './support/resolvers.ts';
import type { Resolver, Verdict } from './support/resolvers.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** `npm run test:resolve-races` plays 1,000. */
const approvalsInAll = Number(process.env['RESOLVE_RACE_APPROVALS'] ?? 30);
const atOnce = 20;
const mixed = ['allow', 'deny', 'allow_remember', 'deny', 'allow'] as const;
/**
 * Whoever takes the fewest look-ups is nearly always first, so the races take turns in who is in
 * them. No length of decisions divides a number of resolvers: everybody comes to say each.
 */
const races = [
  { names: ['owner', 'parent agent', 'admin'], decisions: mixed },
  { names: ['parent agent', 'admin'], decisions: ['allow', 'allow_remember', 'allow'] },
  { names: ['admin'], decisions: mixed },
] as const;

interface Raced {
  readonly id: string;
  readonly path: string;
  /** The approval as its winner was answered. */
  readonly won: Verdict;
  /** Who won, how, and where. */
  readonly by: Resolver;
}

/** One decision counts, whoever decides, where, and how many at once (docs/reference/approvals.md#decisions). */
describe('over two gateways and two replicas of approvals', () => {
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
    const settings = { ...environment, PORT: String(await freePort()) };
    const { url: second } = stack.use(await startGateway(loadConfig(gatewayConfig, settings)));

    const owner = await world.person({ orgId: admin.orgId, name: 'owner', role: 'member' });
    const parent = await createAgent(world.url, owner, 'parent');
    const pattern = `http:POST:${upstream.host}/**`;
    const rule = { identity_id: parent.id, effect: 'allow', pattern };
    created(await owner.post('/v1/rules', rule));
    const child = { name: 'child', parent_id: parent.id, inherit_permissions: false };
    const { id } = created(await owner.post('/v1/identities/subagents', child));
    const { key } = created(await owner.post(`/v1/identities/${id}/keys`, { name: 'test' }));
    requester = { id, key, ...withKey(world.url, key) };

    resolvers = await resolversAt([world.url, second], { owner, parent });
    events = stack.use(await openEvents(second, admin, 'approval.resolved'));
  });
  afterAll(() => stack.disposeAsync());

  /** Everybody who may decide, by REST and by MCP, at each gateway. */
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
      const session = ({ cookie }: Person) => createCaller(url, { cookie, origin: url });
      return [
        byRest({ name: 'owner', id: owner.id }, session(owner)),
        byMcp({ name: 'parent agent', id: parent.id }, url, parent.key),
        byRest({ name: 'admin', id: admin.id }, session(admin)),
        byMcp({ name: 'owner', id: owner.id }, url, ofOwner ?? ''),
        byRest({ name: 'parent agent', id: parent.id }, withKey(url, parent.key)),
        byMcp({ name: 'admin', id: admin.id }, url, ofAdmin ?? ''),
      ];
    });
  }

  async function raise(number: number): Promise<{ id: string; path: string }> {
    const path = `/race/${number}`;
    const url = world.upstream.url + path;
    const { approval_id: id } = created(
      await requester.post('/v1/actions/call', { service: 'http', method: 'POST', url }),
    );
    return { id, path };
  }

  /** All at once; another one begins each time, and says something else. */
  async function race(number: number): Promise<Raced> {
    const { id, path } = await raise(number);
    const { names, decisions } = races[number % races.length] ?? races[0];
    const inIt = resolvers.filter(({ name }) => names.some((each) => each === name));
    const racing = Array.from({ length: atOnce }, (_, index) => {
      const by = inIt[(number * 5 + index) % inIt.length] as Resolver;
      return { by, decision: decisions[(number + index) % decisions.length] ?? 'deny' };
    });
    // Handing it up decides nothing, and so neither wins nor changes who does.
    const bubbling = number % 4 === 0 ? resolvers[0]?.decide(id, 'bubble') : undefined;
    const verdicts = await Promise.all(racing.map(({ by, decision }) => by.decide(id, decision)));

    const winners = racing.filter((_, index) => verdicts[index]?.error === undefined);
    const told = verdicts.map(({ error, status }) => error ?? status).join();
    expect(winners, told).toHaveLength(1);
    const won = verdicts.find(({ error }) => error === undefined) as Verdict;
    const { by, decision } = winners[0] as (typeof winners)[number];
    expect(won).toMatchObject({
      http: 200,
      id,
      resolution: decision,
      resolved_by: { id: by.id },
      status: decision === 'deny' ? 'denied' : 'allowed',
    });
    const { status, resolution, resolved_by: resolvedBy, resolved_at: resolvedAt } = won;
    const late = {
      error: 'already_resolved',
      approval_id: id,
      status,
      resolution,
      resolved_by: resolvedBy,
      resolved_at: resolvedAt,
    };
    for (const [index, verdict] of verdicts.entries()) {
      if (verdict === won) continue;
      const http = racing[index]?.by.way === 'REST' ? 409 : 200;
      expect(verdict).toMatchObject({ http, ...late });
    }
    const bubbled = await bubbling;
    if (bubbled?.error === 'already_resolved')
      expect(bubbled).toMatchObject({ http: 409, ...late });
    else if (bubbled) expect([bubbled.error, bubbled.status]).toEqual([undefined, 'bubbled']);
    return { id, path, won, by };
  }

  test(
    `each of ${approvalsInAll} approvals that ${atOnce} decide at once is decided once`,
    { timeout: 60_000 + approvalsInAll * 1_000 },
    async () => {
      const startedAt = Date.now();
      const raced: Raced[] = [];
      for (let number = 0; number < approvalsInAll; number += 1) raced.push(await race(number));
      const seconds = (Date.now() - startedAt) / 1_000;

      await expectOneOfEach(raced);
      process.stdout.write(report(raced, seconds));
    },
  );

  /** The tables, the event stream and the upstream, about every approval. */
  async function expectOneOfEach(raced: readonly Raced[]): Promise<void> {
    const { admin, tables, upstream } = world;
    const allowed = raced.filter(({ won }) => won.status === 'allowed');
    const expected = raced
      .map(({ id, won, by }) => ({ id, status: won.status, by: by.id }))
      .toSorted((a, b) => a.id.localeCompare(b.id));
    const remembered = allowed
      .filter(({ won }) => won.resolution === 'allow_remember')
      .map(({ id }) => id)
      .toSorted();

    await until(async () => {
      const [row] = await tables.query(
        `select count(*)::int as "running" from approvals.execution where finished_at is null`,
      );
      return row.running === 0;
    }, 'the end of every execution');
    for (const { path, won } of raced) {
      const sent = upstream.hits.filter(({ url }) => url === path).length;
      expect(sent, `${path} ${won.status}`).toBe(won.status === 'allowed' ? 1 : 0);
    }

    const auditRows = () =>
      tables.query(
        `select approval_id as "id", identity ->> 'id' as "by",
                case outcome when 'denied' then 'denied' else 'allowed' end as "status"
           from audit.record where type = 'approval.resolved' order by approval_id`,
      );
    await until(async () => (await auditRows()).length >= raced.length, 'the audit rows');
    expect(await auditRows()).toEqual(expected);
    expect(created(await admin.get('/v1/audit/verify'))).toMatchObject({ valid: true });

    const received = () => events.of('approval.resolved');
    await until(() => received().length >= raced.length, 'the events');
    const told = received()
      .map(({ data }) => ({
        id: data.approval_id,
        status: data.status,
        by: data.resolved_by.id,
      }))
      .toSorted((a, b) => a.id.localeCompare(b.id));
    expect(told).toEqual(expected);

    const rules = await tables.query(
      'select approval_id as "id" from policy.rule where approval_id is not null order by 1',
    );
    expect(rules.map(({ id }) => id)).toEqual(remembered);
  }
});

function report(raced: readonly Raced[], seconds: number): string {
  const winners = new Map<string, number>();
  for (const { by, won } of raced) {
    const what = `${by.name} by ${by.way}: ${won.status}`;
    winners.set(what, (winners.get(what) ?? 0) + 1);
  }
  const lines = [...winners]
    .map(([what, count]) => `  ${what} ${count}\n`)
    .toSorted((a, b) => a.localeCompare(b));
  const decisionsMade = raced.length * atOnce;
  return `${raced.length} approvals, ${decisionsMade} decisions in ${seconds.toFixed(1)} s; won by\n${lines.join('')}`;
}
