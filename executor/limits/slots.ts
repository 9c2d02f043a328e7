import { AppError } from '#errors';
import { Shares, callerPath, overShare } from '#shares';
import type { CallerLevel, Level } from '#shares';
import type { Slots } from '../deps.ts';
import { parseAddress } from '../request/domain/base-url.ts';

/** The longest wait for a slot: 500 ms, and at most this part of the call's own time limit. */
const waitMsMax = 500;
const waitFractionMax = 1 / 4;
/** How long the executor still counts as busy after a call has found no slot. */
const busyMs = 10_000;

/**
 * The part of a caller's slots that one upstream may hold. The rest stays for the caller's calls to
 * other upstreams when one upstream is slow.
 */
const upstreamLevel = { name: 'upstream', percent: 90 } as const;

/**
 * A call that asks for a slot, with its upstream, its caller, and the levels that count it (org,
 * user, identity, and last the upstream).
 */
interface SlotRequest {
  readonly origin: string;
  readonly caller: readonly string[];
  readonly path: readonly string[];
}

/**
 * Why a call gets no slot. `pool`: all slots are taken. `origin`: calls to this upstream hold too
 * many. A level: the share of that org, user, identity or upstream is used up.
 */
type Refusal = 'pool' | 'origin' | CallerLevel | 'upstream';

interface SlotLimits {
  readonly max: number;
  readonly levels: readonly Level<CallerLevel>[];
  readonly now?: () => number;
}

/**
 * Creates the slots for calls under way. Each org, user, identity and upstream has a share of them,
 * so calls that hang use up only the share of their own caller.
 *
 * The last tenth of the slots is for origins that hold few slots; without it a slow origin would
 * soon hold every slot. The number of calls that may wait for a slot is half the number of slots,
 * and one origin may have half of these. The number of admitted calls, which includes calls that
 * are still being prepared, is twice the number of slots. Waiting and admitted calls are limited by
 * shares of the same levels.
 */
export function createSlots({ max, levels, now = () => performance.now() }: SlotLimits): Slots {
  const reservedSlots = Math.floor(max / 10);
  const fewSlotsLimit = Math.ceil(reservedSlots / 4);
  const slotCountByOrigin = new Map<string, number>();
  const startedShares = new Shares({ capacity: max, levels: [...levels, upstreamLevel] });
  const admittedShares = new Shares({ capacity: 2 * max, levels });
  let lastFullAtMs = -Infinity;

  const refusalOf = ({ origin, path }: SlotRequest): Refusal | null => {
    const runningCount = slotCountByOrigin.get(origin) ?? 0;
    if (runningCount >= fewSlotsLimit && startedShares.held >= max - reservedSlots) return 'origin';
    return startedShares.refusalOf(path);
  };
  const hold = ({ origin, path }: SlotRequest): void => {
    startedShares.hold(path);
    slotCountByOrigin.set(origin, (slotCountByOrigin.get(origin) ?? 0) + 1);
  };
  const queue = createQueue(
    { max: Math.ceil(max / 2), levels },
    { refusalOf, hold, taken: startedShares },
  );
  const release = ({ origin, path }: SlotRequest): void => {
    startedShares.give(path);
    const remainingCount = (slotCountByOrigin.get(origin) ?? 1) - 1;
    if (remainingCount === 0) slotCountByOrigin.delete(origin);
    else slotCountByOrigin.set(origin, remainingCount);
    queue.admit();
  };
  const refusalError = (refusal: Refusal, description: string): AppError => {
    if (refusal === 'pool' || refusal === 'origin') {
      lastFullAtMs = now();
      return busyError(description);
    }
    return overShare(refusal, { what: 'calls', component: 'executor' });
  };

  return {
    take(caller) {
      const path = callerPath(caller);
      const refusal = admittedShares.take(path);
      if (refusal !== null) throw refusalError(refusal, 'The executor has its hands full.');
      let heldRequest: SlotRequest | undefined;
      return {
        async enterUpstream(url, timeoutMs = 0) {
          const { origin } = parseAddress(url);
          const slotRequest = { origin, caller: path, path: [...path, origin] };
          const waitMs = Math.min(waitMsMax, timeoutMs * waitFractionMax);
          const refusal = refusalOf(slotRequest);
          if (refusal === null) hold(slotRequest);
          else if (!(await queue.wait(slotRequest, waitMs))) {
            throw refusalError(refusalOf(slotRequest) ?? refusal, 'Too many calls are under way.');
          }
          heldRequest = slotRequest;
        },
        [Symbol.dispose]() {
          admittedShares.give(path);
          if (heldRequest !== undefined) release(heldRequest);
        },
      };
    },
    isBusy: () => startedShares.held >= max - reservedSlots || now() - lastFullAtMs < busyMs,
    taken: () => startedShares.held,
    stopWaiting: () => queue.close(),
  };
}

interface WaitingCall extends SlotRequest {
  /** `isAdmitted` is true when the call got a slot. */
  end(isAdmitted: boolean): void;
}

interface SlotState {
  readonly refusalOf: (wanted: SlotRequest) => Refusal | null;
  readonly hold: (wanted: SlotRequest) => void;
  readonly taken: Shares<string>;
}

/** The calls that wait for a slot. When a slot becomes free, one of them gets it. */
function createQueue(
  { max, levels }: Pick<SlotLimits, 'max' | 'levels'>,
  { refusalOf, hold, taken }: SlotState,
) {
  const queue = new Set<WaitingCall>();
  const waitingShares = new Shares({ capacity: max, levels });
  const waitingPerOriginMax = Math.ceil(max / 2);
  let isClosed = false;

  const hasQueueRoom = ({ origin, caller }: SlotRequest): boolean => {
    if (isClosed || waitingShares.refusalOf(caller) !== null) return false;
    let sameOriginCount = 0;
    for (const each of queue) if (each.origin === origin) sameOriginCount += 1;
    return sameOriginCount < waitingPerOriginMax;
  };
  /**
   * Picks a waiting call that may have a slot now: the call of the org that holds the fewest slots.
   * If orgs hold equally many, the user decides in the same way, and then the identity.
   */
  const pickNext = (): WaitingCall | undefined => {
    let bestCandidate:
      | { readonly waiting: WaitingCall; readonly held: readonly number[] }
      | undefined;
    for (const waiter of queue) {
      if (refusalOf(waiter) !== null) continue;
      const heldCounts = taken.heldOn(waiter.path);
      if (bestCandidate === undefined || isLexicographicallyLess(heldCounts, bestCandidate.held))
        bestCandidate = { waiting: waiter, held: heldCounts };
    }
    return bestCandidate?.waiting;
  };
  return {
    /**
     * True when the call got a slot. False when it may not wait, when too many calls wait already,
     * or when it has waited for `waitMs`.
     */
    async wait(request: SlotRequest, waitMs: number): Promise<boolean> {
      if (waitMs <= 0 || !hasQueueRoom(request)) return false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const waiter: WaitingCall = {
        ...request,
        end(isAdmitted) {
          queue.delete(waiter);
          waitingShares.give(request.caller);
          clearTimeout(timer);
          resolve(isAdmitted);
        },
      };
      const timer = setTimeout(() => waiter.end(false), waitMs);
      queue.add(waiter);
      waitingShares.hold(request.caller);
      return promise;
    },
    admit(): void {
      for (let waiter = pickNext(); waiter !== undefined; waiter = pickNext()) {
        hold(waiter);
        waiter.end(true);
      }
    },
    close(): void {
      isClosed = true;
      for (const waiter of queue) waiter.end(false);
    },
  };
}

function isLexicographicallyLess(left: readonly number[], right: readonly number[]): boolean {
  for (const [at, held] of left.entries()) {
    const difference = held - (right[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

function busyError(description: string): AppError {
  return new AppError('unavailable', `${description} Nothing was sent; try again shortly.`, {
    details: { component: 'executor', busy: true },
  });
}
