import { AppError } from '#errors';
import type { Slots } from './deps.ts';

/**
 * Slots for the calls under way. The last tenth of them is for origins that hold few: one upstream
 * that became slow soon holds all it can get, and must leave room for the calls of the others.
 */
export function createSlots(max: number): Slots {
  const reserved = Math.floor(max / 10);
  const few = Math.ceil(reserved / 4);
  const takenBy = new Map<string, number>();
  let taken = 0;
  return {
    take() {
      if (taken >= max) throw busy('The executor has its hands full.');
      taken += 1;
      let origin: string | undefined;
      return {
        goTo(url) {
          const wanted = new URL(url).origin;
          const held = takenBy.get(wanted) ?? 0;
          if (held >= few && taken > max - reserved)
            throw busy('Too many calls of this upstream are under way.');
          takenBy.set(wanted, held + 1);
          origin = wanted;
        },
        [Symbol.dispose]() {
          taken -= 1;
          if (origin === undefined) return;
          const left = (takenBy.get(origin) ?? 1) - 1;
          if (left === 0) takenBy.delete(origin);
          else takenBy.set(origin, left);
        },
      };
    },
  };
}

function busy(what: string): AppError {
  return new AppError('unavailable', `${what} Nothing was sent; try again shortly.`, {
    details: { component: 'executor', busy: true },
  });
}
