import { fileHours } from '#contracts/files';
import type { Database } from '#database';
import { AppError } from '#errors';
import { findRefusal } from '#shares';
import type { CallerIds, CallerLevel, Level } from '#shares';
import { addShareUse, lockHeldShares, setShareUse } from './share-use.sql.ts';

interface FileSpaceLimits {
  readonly db: Database;
  /** The limit for all files together, in bytes. */
  readonly bytesMax: number;
  readonly levels: readonly Level<CallerLevel>[];
}

/**
 * Reserves space in the object store. It counts against the caller's share for as long as the files
 * are kept.
 */
export interface FileSpace {
  open(caller: CallerIds, fileId: string): OpenFile;
}

export interface OpenFile {
  /**
   * Reserves space before the file is written up to `size` bytes. Throws `rate_limited` when the
   * caller's share is used up, or `unavailable` when the whole store is full.
   */
  reach(size: number): Promise<void>;
  /** Sets the reservation to the final size of the file. 0 means that the file is not kept. */
  close(size: number): Promise<void>;
}

/**
 * Space is reserved in large pieces: a reservation for each stored message would cost more than
 * storing the message.
 */
const pieceBytes = { first: 1024 * 1024, more: 8 * 1024 * 1024 };
/** Smaller files count as this many bytes, because their messages and rows take space too. */
const fileBytesMin = 64 * 1024;
const retrySeconds = 600;

export function createFileSpace({ db, bytesMax, levels }: FileSpaceLimits): FileSpace {
  const reserveSpace = (caller: CallerIds, id: string, amount: number) =>
    db.transaction(async (tx) => {
      const { orgId, userId, identityId } = caller;
      const shareUse = { id, pool: 'files', orgId, userId, identityId } as const;
      const heldShares = await lockHeldShares(tx, shareUse);
      const refusal = findRefusal({ capacity: bytesMax, levels }, heldShares, amount);
      if (refusal !== null) throw noSpaceError(refusal);
      await addShareUse(tx, { ...shareUse, amount, seconds: fileHours * 3_600 });
    });
  return {
    open(caller, fileId) {
      let reservedBytes = 0;
      return {
        async reach(size) {
          while (reservedBytes < size) {
            const amount = reservedBytes === 0 ? pieceBytes.first : pieceBytes.more;
            await reserveSpace(caller, fileId, amount);
            reservedBytes += amount;
          }
        },
        async close(size) {
          const amount = size === 0 ? 0 : Math.max(size, fileBytesMin);
          await setShareUse(db, { orgId: caller.orgId, id: fileId, amount });
        },
      };
    },
  };
}

function noSpaceError(limitedOwner: CallerLevel | 'pool'): AppError {
  if (limitedOwner === 'pool') {
    return new AppError('unavailable', 'The answer could not be stored; try again later.');
  }
  return new AppError(
    'rate_limited',
    `The files of this ${limitedOwner} fill its share of the store. They are kept for an hour; try again later.`,
    { details: { retry_after: retrySeconds } },
  );
}
