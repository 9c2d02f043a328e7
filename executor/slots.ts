import { AppError } from '#errors';
import type { Slots } from './deps.ts';

/** How long a call may wait for a slot at most, and what part of its own time limit. */
const waitMsMax = 500;
const waitShare = 1 / 4;

/**
 * Slots for the calls under way. The last tenth of them is for origins that hold few: one upstream
 * that became slow soon holds all it can get, and must leave room for the calls of the others.
 * Half as many calls again may wait for a slot for a moment, half of these for the same origin; with
 * those that are still being prepared twice as many are in hand as there are slots.
 */
export function createSlots(max: number): Slots {
  const reserved = Math.floor(max / 10);
  const few = Math.ceil(reserved / 4);
  const takenBy = new Map<string, number>();
  let inHand = 0;
  let taken = 0;
  const queue = createQueue(Math.ceil(max / 2));

  const hold = (origin: string): boolean => {
    const held = takenBy.get(origin) ?? 0;
    if (taken >= max || (held >= few && taken >= max - reserved)) return false;
    taken += 1;
    takenBy.set(origin, held + 1);
    return true;
  };
  const free = (origin: string): void => {
    taken -= 1;
    const left = (takenBy.get(origin) ?? 1) - 1;
    if (left === 0) takenBy.delete(origin);
    else takenBy.set(origin, left);
    queue.admit(hold);
  };

  return {
    take() {
      if (inHand >= 2 * max) throw busy('The executor has its hands full.');
      inHand += 1;
      let origin: string | undefined;
      return {
        async goTo(url, timeoutMs = 0) {
          const wanted = new URL(url).origin;
          const waitMs = Math.min(waitMsMax, timeoutMs * waitShare);
          if (!hold(wanted)) await queue.wait(wanted, waitMs);
          origin = wanted;
        },
        [Symbol.dispose]() {
          inHand -= 1;
          if (origin !== undefined) free(origin);
        },
      };
    },
    stopWaiting: () => queue.close(),
  };
}

interface Waiting {
  readonly origin: string;
  enter(): void;
  refuse(): void;
}

/** Calls that wait, in the order of arrival. None of them could have a slot: whoever frees one lets them in first. */
function createQueue(max: number) {
  const queue = new Set<Waiting>();
  const ofOriginMax = Math.ceil(max / 2);
  let isClosed = false;

  const hasRoom = (origin: string): boolean => {
    if (isClosed || queue.size >= max) return false;
    let sameOrigin = 0;
    for (const each of queue) if (each.origin === origin) sameOrigin += 1;
    return sameOrigin < ofOriginMax;
  };
  return {
    /** Resolves when it was admitted; throws `unavailable` (`busy`) when there is no time or no room to wait. */
    async wait(origin: string, waitMs: number): Promise<void> {
      if (waitMs <= 0 || !hasRoom(origin)) throw tooMany();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiting = {
        origin,
        enter: resolve,
        refuse() {
          queue.delete(waiting);
          reject(tooMany());
        },
      };
      const timer = setTimeout(() => waiting.refuse(), waitMs);
      queue.add(waiting);
      try {
        await promise;
      } finally {
        clearTimeout(timer);
      }
    },
    /** Lets in whoever `hold` says yes to. */
    admit(hold: (origin: string) => boolean): void {
      for (const waiting of queue) {
        if (!hold(waiting.origin)) continue;
        queue.delete(waiting);
        waiting.enter();
      }
    },
    close(): void {
      isClosed = true;
      for (const waiting of queue) waiting.refuse();
    },
  };
}

function tooMany(): AppError {
  return busy('Too many calls are under way.');
}

function busy(what: string): AppError {
  return new AppError('unavailable', `${what} Nothing was sent; try again shortly.`, {
    details: { component: 'executor', busy: true },
  });
}
