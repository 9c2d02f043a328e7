import { AppError } from '#errors';

/**
 * Limits how many tasks hold a whole document in memory at once. Further tasks are refused, not
 * queued.
 */
export interface ImportSlots {
  /** Throws `unavailable` when no slot is free, or when the user holds as many as one may. */
  run<Result>(userId: string, work: () => Promise<Result>): Promise<Result>;
}

/**
 * Each task holds a document of at most 64 MiB, and needs several times as much memory to parse it.
 */
const slotsMax = 4;
const slotsPerUserMax = 2;

export function createImportSlots(): ImportSlots {
  const takenSlots: string[] = [];
  return {
    async run(userId, work) {
      const ownSlots = takenSlots.filter((holderId) => holderId === userId).length;
      if (takenSlots.length === slotsMax || ownSlots === slotsPerUserMax) {
        throw new AppError('unavailable', 'Too many documents are being imported; try again soon.');
      }
      takenSlots.push(userId);
      try {
        return await work();
      } finally {
        takenSlots.splice(takenSlots.indexOf(userId), 1);
      }
    },
  };
}
