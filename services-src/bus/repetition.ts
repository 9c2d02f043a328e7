import type { Msg } from '@nats-io/transport-node';

/**
 * How long a client waits for an answer before it sends a repeatable request a second time. Such
 * requests usually take much less time, so only a lost or stuck request is repeated.
 */
export const repeatAfterMs = 1_000;

/**
 * How much each first request adds to the budget. It bounds the additional load on a slow component
 * to a tenth.
 */
const repetitionsPerRequest = 0.1;
/**
 * How much each second adds to the budget, so that a client that sends few requests may repeat one
 * too.
 */
const repetitionsPerSecond = 1;
/**
 * The most repetitions that the budget can hold. It covers the requests of one client that a
 * replica holds when it dies.
 */
const repetitionsSavedMax = 200;

/**
 * Limits repetitions to a small part of the requests. A component that is slow may be overloaded,
 * and without a limit its clients would double its load.
 */
export interface RepetitionBudget {
  /** Counts a request that is sent for the first time. */
  count(): void;
  /** Takes one repetition. False when the budget is used up. */
  spend(): boolean;
}

export function createRepetitionBudget(
  now: () => number = () => performance.now(),
): RepetitionBudget {
  let repetitionsLeft = repetitionsSavedMax;
  let filledAt = now();
  const addRepetitions = (count: number) => {
    repetitionsLeft = Math.min(repetitionsSavedMax, repetitionsLeft + count);
  };
  return {
    count: () => addRepetitions(repetitionsPerRequest),
    spend() {
      const at = now();
      addRepetitions(((at - filledAt) / 1_000) * repetitionsPerSecond);
      filledAt = at;
      if (repetitionsLeft < 1) return false;
      repetitionsLeft -= 1;
      return true;
    },
  };
}

interface RepeatableRequest {
  /** The time within which the first request must be answered. */
  readonly timeoutMs: number;
  readonly budget: RepetitionBudget;
  /**
   * Sends the request once. The request carries the time limit, so that the component knows it too.
   */
  readonly send: (timeoutMs: number) => Promise<Msg>;
  /**
   * Whether an answer only says that this replica could not serve the request, for lack of room for
   * example.
   */
  readonly isRefusal: (answer: Msg) => boolean;
}

/**
 * Sends a request, and sends it again when no answer has come after a second. The first answer
 * counts. When the second request fails or is refused, the first one may still succeed, so the
 * client then waits for the answer to the first one.
 */
export async function sendUpToTwice({
  timeoutMs,
  budget,
  send,
  isRefusal,
}: RepeatableRequest): Promise<Msg> {
  budget.count();
  const first = send(timeoutMs);
  const leftMs = timeoutMs - repeatAfterMs;
  if (leftMs <= 0) return first;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      if (!budget.spend()) return;
      send(leftMs).then(
        (answer) => {
          if (!isRefusal(answer)) resolve(answer);
        },
        () => undefined,
      );
    }, repeatAfterMs);
    first.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
