import { AppError } from '#errors';

/** Runs what holds a whole document in memory: a few at once, and no queue of them. */
export interface ImportSlots {
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Of 64 MiB each at most, and several times that while one is read. */
const slotsMax = 4;

export function createImportSlots(): ImportSlots {
  let taken = 0;
  return {
    async run(work) {
      if (taken === slotsMax) {
        throw new AppError('unavailable', 'Too many documents are being imported; try again soon.');
      }
      taken += 1;
      try {
        return await work();
      } finally {
        taken -= 1;
      }
    },
  };
}
