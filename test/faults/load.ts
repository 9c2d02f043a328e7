import { setTimeout as sleep } from 'node:timers/promises';

import type { Actors, Answer, Requester } from './actors.ts';

/** What clients were told, and so may rely on. */
export interface Ledger {
  /** The number of its order, by approval; only those answered with an envelope. */
  readonly raised: Map<string, number>;
  /** As which a decision was answered, by approval. */
  readonly decided: Map<string, string>;
  /** How many answers of each kind there were. */
  readonly answers: Map<string, number>;
  /** Answers that no client should get, whatever dies. */
  readonly odd: string[];
  slowestMs: number;
}

export interface Load {
  readonly ledger: Ledger;
  /** Raises nothing more, and resolves when everything that is open has been decided. */
  drain(): Promise<void>;
}

const raisersAtOnce = 4;
const decidersAtOnce = 16;
const pauseMs = 250;
const oddMax = 100;
const sweepEveryMs = 1_000;

/** Agents ask, people and agents decide, and everybody tries again what had no answer. */
export function startLoad(actors: Actors): Load {
  const ledger: Ledger = {
    raised: new Map(),
    decided: new Map(),
    answers: new Map(),
    odd: [],
    slowestMs: 0,
  };
  const waiting: { id: string; requester: Requester }[] = [];
  const known = new Set<string>();
  const asking = new AbortController();
  const deciding = new AbortController();
  let lastNumber = 0;
  let inHand = 0;

  const found = (id: string, requester: Requester) => {
    if (known.has(id)) return;
    known.add(id);
    waiting.push({ id, requester });
  };
  const raising = actors.requesters.flatMap((requester) =>
    Array.from({ length: raisersAtOnce }, async () => {
      while (!asking.signal.aborted) {
        lastNumber += 1;
        const id = await raise(requester, lastNumber, ledger);
        if (id !== undefined) found(id, requester);
        // What is not decided yet is no load.
        while (waiting.length > 100) await sleep(20);
      }
    }),
  );
  const decisions = Array.from({ length: decidersAtOnce }, async () => {
    while (!deciding.signal.aborted) {
      const next = waiting.shift();
      if (next === undefined) {
        await sleep(10);
        continue;
      }
      inHand += 1;
      const status = await decide(actors, next, ledger);
      if (status === 'allowed' && next.requester.runsItself) {
        await run(next.requester, next.id, ledger);
      }
      inHand -= 1;
    }
  });
  // What was raised although its answer was lost, as the dashboard lists it.
  const sweepOnce = async (round: number): Promise<number | undefined> => {
    const owner = actors.owners[round % actors.owners.length];
    const path = '/v1/approvals?status=open&limit=200';
    const reply = await attempt('list', ledger, async () => {
      const { status, body } = (await owner?.get(path)) ?? { status: 0, body: {} };
      return { ...body, http: status };
    });
    if (reply?.http !== 200) return undefined;
    const { items } = reply as unknown as { items: { id: string; requester: { id: string } }[] };
    for (const item of items) {
      const requester = actors.requesters.find(({ id }) => id === item.requester.id);
      if (requester) found(item.id, requester);
    }
    return items.length;
  };
  let openInTheEnd: number | undefined;
  const sweeping = (async () => {
    for (let round = 0; !deciding.signal.aborted; round += 1) {
      openInTheEnd = await sweepOnce(round);
      await sleep(sweepEveryMs);
    }
  })();

  return {
    ledger,
    async drain() {
      asking.abort();
      await Promise.all(raising);
      openInTheEnd = undefined;
      while (openInTheEnd !== 0 || waiting.length > 0 || inHand > 0) await sleep(50);
      deciding.abort();
      await Promise.all([...decisions, sweeping]);
    },
  };
}

/** One request, counted; undefined when no answer came. */
async function attempt(
  what: string,
  ledger: Ledger,
  ask: () => Promise<Answer>,
): Promise<Answer | undefined> {
  const startedAt = performance.now();
  let answer: Answer | undefined;
  try {
    answer = await ask();
  } catch (thrown) {
    // The connection ended, could not be made, or brought half an answer.
    if (!isLost(thrown)) throw thrown;
  }
  const tookMs = performance.now() - startedAt;
  ledger.slowestMs = Math.max(ledger.slowestMs, tookMs);
  const told = answer === undefined ? 'no answer' : (answer.error ?? answer.status ?? answer.http);
  const key = `${what}: ${told}`;
  ledger.answers.set(key, (ledger.answers.get(key) ?? 0) + 1);
  return answer;
}

function isLost(thrown: unknown): boolean {
  return (
    thrown instanceof TypeError ||
    thrown instanceof SyntaxError ||
    (thrown instanceof DOMException && thrown.name === 'TimeoutError')
  );
}

/** Worth another attempt: no answer, or one that says so. */
function mayTryAgain(answer: Answer | undefined): boolean {
  return (
    answer === undefined ||
    answer.error === 'unavailable' ||
    answer.error === 'execution_in_progress'
  );
}

/**
 * Asks until there is an envelope. With an idempotency key the same order is asked for again;
 * without one another order takes its place, because the lost one may have been raised.
 */
async function raise(
  requester: Requester,
  number: number,
  ledger: Ledger,
): Promise<string | undefined> {
  for (;;) {
    const answer = await attempt(`raise by ${requester.way}`, ledger, () =>
      requester.order(number),
    );
    const id = answer?.approval_id;
    if (answer?.status === 'pending_approval' && id !== undefined) {
      ledger.raised.set(id, number);
      return id;
    }
    if (mayTryAgain(answer)) {
      await sleep(pauseMs);
      if (requester.way === 'MCP') return undefined;
      continue;
    }
    // Asked for again, an order that was raised and decided meanwhile is answered with its end.
    const isOver = answer?.status === 'called' || answer?.status === 'denied';
    if (!isOver && answer?.error !== 'outcome_unknown') note(ledger, 'raise', answer);
    return undefined;
  }
}

async function decide(
  actors: Actors,
  { id, requester }: { id: string; requester: Requester },
  ledger: Ledger,
): Promise<string> {
  const resolvers = actors.resolversOf.get(requester.id) ?? [];
  const decision = decisionOn(id);
  for (let round = Number.parseInt(id.slice(-2), 16); ; round += 1) {
    const resolver = resolvers[round % resolvers.length];
    const answer = await attempt(`decide by ${resolver?.way}`, ledger, () => {
      if (decision === 'cancel') return cancel(actors, round, id);
      return (resolver as (typeof resolvers)[number]).decide(id, decision) as Promise<Answer>;
    });
    // An earlier attempt whose answer was lost has won.
    const isDone = answer?.error === undefined || answer.error === 'already_resolved';
    if (answer !== undefined && isDone && answer.status !== undefined) {
      ledger.decided.set(id, answer.status);
      return answer.status;
    }
    if (!mayTryAgain(answer)) note(ledger, `${decision} by ${resolver?.name}`, answer);
    await sleep(pauseMs);
  }
}

async function cancel({ owners }: Actors, round: number, id: string): Promise<Answer> {
  const reply = await owners[round % owners.length]?.post(`/v1/approvals/${id}/cancel`);
  return { ...reply?.body, http: reply?.status };
}

/** Nearly all are allowed; by the id, so that whoever tries again says the same. */
function decisionOn(id: string): 'allow' | 'allow_remember' | 'deny' | 'cancel' {
  const percent = Number.parseInt(id.slice(-6, -2), 16) % 100;
  if (percent < 4) return 'cancel';
  if (percent < 12) return 'deny';
  return percent < 16 ? 'allow_remember' : 'allow';
}

/** What an agent does that was told to come back itself. */
async function run(requester: Requester, id: string, ledger: Ledger): Promise<void> {
  for (;;) {
    const answer = await attempt('run', ledger, () => requester.resume(id));
    const isOver = answer?.status === 'called' || answer?.error === 'outcome_unknown';
    if (isOver) return;
    const isUnderWay = answer?.status === 'pending_approval';
    if (!isUnderWay && !mayTryAgain(answer)) note(ledger, 'run', answer);
    await sleep(pauseMs);
  }
}

function note({ odd }: Ledger, what: string, answer: Answer | undefined): void {
  odd.push(`${what}: ${JSON.stringify(answer)?.slice(0, 500)}`);
  // Nothing will come of going on.
  if (odd.length >= oddMax) throw new Error(odd.join('\n'));
}
