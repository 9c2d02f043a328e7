import { AppError } from '#errors';
import { Shares, callerPath, overShare } from '#shares';
import type { CallerLevel, Level } from '#shares';
import type { Slots } from './deps.ts';
import { parseAddress } from './domain/base-url.ts';

/** How long a call may wait for a slot at most, and what part of its own time limit. */
const waitMsMax = 500;
const waitShare = 1 / 4;
/** For so long after a call found no slot the executor counts as busy. */
const busyMs = 10_000;

/** What one upstream may hold of what its caller may hold: a slow one leaves the rest to the caller's other calls. */
const upstreamLevel = { name: 'upstream', percent: 90 } as const;

/** Who wants a slot, and for which upstream: the way to it through the levels, the upstream last. */
interface Wanted {
  readonly origin: string;
  readonly caller: readonly string[];
  readonly path: readonly string[];
}

/** Why there is none: no slot for anybody, none for anybody's calls of this upstream, or none within a share. */
type Refusal = 'pool' | 'origin' | CallerLevel | 'upstream';

interface SlotLimits {
  readonly max: number;
  readonly levels: readonly Level<CallerLevel>[];
  readonly now?: () => number;
}

/**
 * Slots for the calls under way. They are shared out by org, user, identity and upstream: calls that
 * hang hold what their caller may hold, and leave the rest to others. Besides, the last tenth is for
 * origins that hold few: one that became slow soon holds all that everybody's calls to it can get.
 * Half as many calls again may wait for a slot for a moment, half of these for the same origin; with
 * those that are still being prepared twice as many are in hand as there are slots. Those that wait
 * and those in hand are shared out alike.
 */
export function createSlots({ max, levels, now = () => performance.now() }: SlotLimits): Slots {
  const reserved = Math.floor(max / 10);
  const few = Math.ceil(reserved / 4);
  const takenBy = new Map<string, number>();
  const taken = new Shares({ capacity: max, levels: [...levels, upstreamLevel] });
  const inHand = new Shares({ capacity: 2 * max, levels });
  let fullAt = -Infinity;

  const refusalOf = ({ origin, path }: Wanted): Refusal | null => {
    const held = takenBy.get(origin) ?? 0;
    if (held >= few && taken.held >= max - reserved) return 'origin';
    return taken.refusalOf(path);
  };
  const hold = ({ origin, path }: Wanted): void => {
    taken.hold(path);
    takenBy.set(origin, (takenBy.get(origin) ?? 0) + 1);
  };
  const queue = createQueue({ max: Math.ceil(max / 2), levels }, { refusalOf, hold, taken });
  const free = ({ origin, path }: Wanted): void => {
    taken.give(path);
    const left = (takenBy.get(origin) ?? 1) - 1;
    if (left === 0) takenBy.delete(origin);
    else takenBy.set(origin, left);
    queue.admit();
  };
  const refuse = (refusal: Refusal, what: string): AppError => {
    if (refusal === 'pool' || refusal === 'origin') {
      fullAt = now();
      return busy(what);
    }
    return overShare(refusal, { what: 'calls', component: 'executor' });
  };

  return {
    take(caller) {
      const path = callerPath(caller);
      const refusal = inHand.take(path);
      if (refusal !== null) throw refuse(refusal, 'The executor has its hands full.');
      let held: Wanted | undefined;
      return {
        async enterUpstream(url, timeoutMs = 0) {
          const { origin } = parseAddress(url);
          const wanted = { origin, caller: path, path: [...path, origin] };
          const waitMs = Math.min(waitMsMax, timeoutMs * waitShare);
          const why = refusalOf(wanted);
          if (why === null) hold(wanted);
          else if (!(await queue.wait(wanted, waitMs))) {
            throw refuse(refusalOf(wanted) ?? why, 'Too many calls are under way.');
          }
          held = wanted;
        },
        [Symbol.dispose]() {
          inHand.give(path);
          if (held !== undefined) free(held);
        },
      };
    },
    isBusy: () => taken.held >= max - reserved || now() - fullAt < busyMs,
    stopWaiting: () => queue.close(),
  };
}

interface Waiting extends Wanted {
  /** With true when it was admitted. */
  end(isAdmitted: boolean): void;
}

interface SlotState {
  readonly refusalOf: (wanted: Wanted) => Refusal | null;
  readonly hold: (wanted: Wanted) => void;
  readonly taken: Shares<string>;
}

/** Calls that wait for a slot. None of them could have one: each that is freed lets in the next of them. */
function createQueue(
  { max, levels }: Pick<SlotLimits, 'max' | 'levels'>,
  { refusalOf, hold, taken }: SlotState,
) {
  const queue = new Set<Waiting>();
  const places = new Shares({ capacity: max, levels });
  const ofOriginMax = Math.ceil(max / 2);
  let isClosed = false;

  const hasRoom = ({ origin, caller }: Wanted): boolean => {
    if (isClosed || places.refusalOf(caller) !== null) return false;
    let sameOrigin = 0;
    for (const each of queue) if (each.origin === origin) sameOrigin += 1;
    return sameOrigin < ofOriginMax;
  };
  /** Of those that may have a slot now, one of the org that holds the fewest, then of the user, then of the identity. */
  const next = (): Waiting | undefined => {
    let best: { readonly waiting: Waiting; readonly held: readonly number[] } | undefined;
    for (const waiting of queue) {
      if (refusalOf(waiting) !== null) continue;
      const held = taken.heldOn(waiting.path);
      if (best === undefined || isLess(held, best.held)) best = { waiting, held };
    }
    return best?.waiting;
  };
  return {
    /** True when it got a slot; false when there is no time or no room to wait, or the time is over. */
    async wait(wanted: Wanted, waitMs: number): Promise<boolean> {
      if (waitMs <= 0 || !hasRoom(wanted)) return false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const waiting: Waiting = {
        ...wanted,
        end(isAdmitted) {
          queue.delete(waiting);
          places.give(wanted.caller);
          clearTimeout(timer);
          resolve(isAdmitted);
        },
      };
      const timer = setTimeout(() => waiting.end(false), waitMs);
      queue.add(waiting);
      places.hold(wanted.caller);
      return promise;
    },
    admit(): void {
      for (let waiting = next(); waiting !== undefined; waiting = next()) {
        hold(waiting);
        waiting.end(true);
      }
    },
    close(): void {
      isClosed = true;
      for (const waiting of queue) waiting.end(false);
    },
  };
}

function isLess(one: readonly number[], other: readonly number[]): boolean {
  for (const [at, held] of one.entries()) {
    const difference = held - (other[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function busy(what: string): AppError {
  return new AppError('unavailable', `${what} Nothing was sent; try again shortly.`, {
    details: { component: 'executor', busy: true },
  });
}
