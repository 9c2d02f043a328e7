import { AppError } from '#errors';
import type { Slots } from './deps.ts';

export function createSlots(max: number): Slots {
  let taken = 0;
  return {
    take() {
      if (taken >= max) {
        throw new AppError(
          'unavailable',
          'The executor has its hands full. Nothing was sent; try again shortly.',
          {
            details: { component: 'executor', busy: true },
          },
        );
      }
      taken += 1;
      return { [Symbol.dispose]: () => void (taken -= 1) };
    },
  };
}
