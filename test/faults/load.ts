import { setTimeout as sleep } from 'node:timers/promises';

import type { Actors, Answer, Requester } from './actors.ts';

/**
 * The answers that clients have received. Clients may rely on these answers, whichever process is
 * killed later.
 */
export interface Ledger {
  /** The number of each order whose answer was a pending approval, by approval id. */
  readonly orderNumbers: Map<string, number>;
  /** The approval's status as the answer to its decision stated it, by approval id. */
  readonly decidedStatuses: Map<string, string>;
  /** The number of answers of each kind. */
  readonly answers: Map<string, number>;
  /** The requests that were answered with an error or not at all. */
  readonly failures: Failure[];
  /** Descriptions of answers that no client may get, even while processes are killed. */
  readonly oddAnswers: string[];
  slowestMs: number;
}

interface Failure {
  readonly what: string;
  readonly answer: Answer | undefined;
  readonly tookMs: number;
}

export interface Load {
  readonly ledger: Ledger;
  /** Requests no more orders. Resolves when every open approval has been decided. */
  drain(): Promise<void>;
}

/** How many requests of each kind are in progress at the same time. */
interface Pressure {
  /** How many orders each requester requests at the same time. */
  readonly raisersAtOnce: number;
  readonly decidersAtOnce: number;
}

const highPressure: Pressure = { raisersAtOnce: 4, decidersAtOnce: 16 };
const pauseMs = 250;
const oddAnswersMax = 100;
const sweepEveryMs = 1_000;

/**
 * Starts the load: agents request orders that need approvals, and people and agents decide them.
 * All of them retry requests that got no answer.
 */
export function startLoad(
  actors: Actors,
  { raisersAtOnce, decidersAtOnce }: Pressure = highPressure,
): Load {
  const ledger: Ledger = {
    orderNumbers: new Map(),
    decidedStatuses: new Map(),
    answers: new Map(),
    failures: [],
    oddAnswers: [],
    slowestMs: 0,
  };
  const waitingApprovals: { id: string; requester: Requester }[] = [];
  const knownIds = new Set<string>();
  const stopController = new AbortController();
  const decidingController = new AbortController();
  let lastNumber = 0;
  let decisionsInHand = 0;

  const queueApproval = (id: string, requester: Requester) => {
    if (knownIds.has(id)) return;
    knownIds.add(id);
    waitingApprovals.push({ id, requester });
  };
  const raisingLoops = actors.requesters.flatMap((requester) =>
    Array.from({ length: raisersAtOnce }, async () => {
      while (!stopController.signal.aborted) {
        lastNumber += 1;
        const id = await requestOrder(requester, lastNumber, ledger);
        if (id !== undefined) queueApproval(id, requester);
        // Limits the number of approvals that wait for a decision, because waiting approvals put no
        // load on the product.
        while (waitingApprovals.length > 100) await sleep(20);
      }
    }),
  );
  const decisionLoops = Array.from({ length: decidersAtOnce }, async () => {
    while (!decidingController.signal.aborted) {
      const nextApproval = waitingApprovals.shift();
      if (nextApproval === undefined) {
        await sleep(10);
        continue;
      }
      decisionsInHand += 1;
      const status = await decideApproval(actors, nextApproval, ledger);
      if (status === 'allowed' && nextApproval.requester.replaysItself) {
        await replayCall(nextApproval.requester, nextApproval.id, ledger);
      }
      decisionsInHand -= 1;
    }
  });
  // Looks in the dashboard's list for approvals that their requesters do not know because the
  // answer was lost.
  const sweepOnce = async (round: number): Promise<number | undefined> => {
    const owner = actors.owners[round % actors.owners.length];
    const path = '/v1/approvals?status=open&limit=200';
    const reply = await attemptRequest('list', ledger, async () => {
      const { status, body } = (await owner?.get(path)) ?? { status: 0, body: {} };
      return { ...body, http: status };
    });
    if (reply?.http !== 200) return undefined;
    const { items } = reply as unknown as { items: { id: string; requester: { id: string } }[] };
    for (const item of items) {
      const requester = actors.requesters.find(({ id }) => id === item.requester.id);
      if (requester) queueApproval(item.id, requester);
    }
    return items.length;
  };
  let openCount: number | undefined;
  const sweepLoop = (async () => {
    for (let round = 0; !decidingController.signal.aborted; round += 1) {
      openCount = await sweepOnce(round);
      await sleep(sweepEveryMs);
    }
  })();

  return {
    ledger,
    async drain() {
      stopController.abort();
      await Promise.all(raisingLoops);
      openCount = undefined;
      while (openCount !== 0 || waitingApprovals.length > 0 || decisionsInHand > 0) await sleep(50);
      decidingController.abort();
      await Promise.all([...decisionLoops, sweepLoop]);
    },
  };
}

/** Sends one request and counts its answer. Returns undefined if no answer came. */
async function attemptRequest(
  what: string,
  ledger: Ledger,
  sendRequest: () => Promise<Answer>,
): Promise<Answer | undefined> {
  const startedAt = performance.now();
  let answer: Answer | undefined;
  try {
    answer = await sendRequest();
  } catch (thrown) {
    // The connection failed, was closed, or transferred only a part of the answer.
    if (!isConnectionLost(thrown)) throw thrown;
  }
  const tookMs = performance.now() - startedAt;
  ledger.slowestMs = Math.max(ledger.slowestMs, tookMs);
  const outcomeText =
    answer === undefined ? 'no answer' : (answer.error ?? answer.status ?? answer.http);
  const key = `${what}: ${outcomeText}`;
  ledger.answers.set(key, (ledger.answers.get(key) ?? 0) + 1);
  if (answer?.error !== undefined || answer === undefined) {
    ledger.failures.push({ what, answer, tookMs });
  }
  return answer;
}

function isConnectionLost(thrown: unknown): boolean {
  return (
    thrown instanceof TypeError ||
    thrown instanceof SyntaxError ||
    (thrown instanceof DOMException && thrown.name === 'TimeoutError')
  );
}

/** Whether a retry may help: there was no answer, or the answer asks for a retry. */
function mayTryAgain(answer: Answer | undefined): boolean {
  return (
    answer === undefined ||
    answer.error === 'unavailable' ||
    answer.error === 'execution_in_progress'
  );
}

/**
 * Requests an order until the answer is a pending approval. A requester with an idempotency key
 * repeats the same order. A requester without one gives up and later sends a new order, because the
 * order whose answer was lost may already have an approval.
 */
async function requestOrder(
  requester: Requester,
  number: number,
  ledger: Ledger,
): Promise<string | undefined> {
  for (;;) {
    const answer = await attemptRequest(`raise by ${requester.way}`, ledger, () =>
      requester.order(number),
    );
    const id = answer?.approval_id;
    if (answer?.status === 'pending_approval' && id !== undefined) {
      ledger.orderNumbers.set(id, number);
      return id;
    }
    if (mayTryAgain(answer)) {
      await sleep(pauseMs);
      if (requester.way === 'MCP') return undefined;
      continue;
    }
    // The order of an earlier attempt may have been decided in the meantime. Then this answer is
    // the final one.
    const isOver = answer?.status === 'called' || answer?.status === 'denied';
    if (!isOver && answer?.error !== 'outcome_unknown') noteOddAnswer(ledger, 'raise', answer);
    return undefined;
  }
}

async function decideApproval(
  actors: Actors,
  { id, requester }: { id: string; requester: Requester },
  ledger: Ledger,
): Promise<string> {
  const resolvers = actors.resolversOf.get(requester.id) ?? [];
  const decision = decisionOn(id);
  for (let round = Number.parseInt(id.slice(-2), 16); ; round += 1) {
    const resolver = resolvers[round % resolvers.length];
    const answer = await attemptRequest(`decide by ${resolver?.way}`, ledger, () => {
      if (decision === 'cancel') return cancelApproval(actors, round, id);
      return (resolver as (typeof resolvers)[number]).decide(id, decision) as Promise<Answer>;
    });
    // `already_resolved` means that an earlier attempt has succeeded, and its answer was lost.
    const isDone = answer?.error === undefined || answer.error === 'already_resolved';
    if (answer !== undefined && isDone && answer.status !== undefined) {
      ledger.decidedStatuses.set(id, answer.status);
      return answer.status;
    }
    if (!mayTryAgain(answer)) noteOddAnswer(ledger, `${decision} by ${resolver?.name}`, answer);
    await sleep(pauseMs);
  }
}

async function cancelApproval({ owners }: Actors, round: number, id: string): Promise<Answer> {
  const reply = await owners[round % owners.length]?.post(`/v1/approvals/${id}/cancel`);
  return { ...reply?.body, http: reply?.status };
}

/**
 * Allows nearly all orders. The decision depends only on the approval's id, so that a retry makes
 * the same decision.
 */
function decisionOn(id: string): 'allow' | 'allow_remember' | 'deny' | 'cancel' {
  const percent = Number.parseInt(id.slice(-6, -2), 16) % 100;
  if (percent < 4) return 'cancel';
  if (percent < 12) return 'deny';
  return percent < 16 ? 'allow_remember' : 'allow';
}

/** Asks for the replay of an allowed call. An agent does so if it replays its calls itself. */
async function replayCall(requester: Requester, id: string, ledger: Ledger): Promise<void> {
  for (;;) {
    const answer = await attemptRequest('run', ledger, () => requester.resume(id));
    const isOver = answer?.status === 'called' || answer?.error === 'outcome_unknown';
    if (isOver) return;
    const isUnderWay = answer?.status === 'pending_approval';
    if (!isUnderWay && !mayTryAgain(answer)) noteOddAnswer(ledger, 'run', answer);
    await sleep(pauseMs);
  }
}

function noteOddAnswer(
  { oddAnswers: odd }: Ledger,
  what: string,
  answer: Answer | undefined,
): void {
  odd.push(`${what}: ${JSON.stringify(answer)?.slice(0, 500)}`);
  // So many odd answers mean that the run has failed, so it stops.
  if (odd.length >= oddAnswersMax) throw new Error(odd.join('\n'));
}
