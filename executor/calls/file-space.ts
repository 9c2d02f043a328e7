import { fileHours } from '#contracts/files';
import type { Database } from '#database';
import { AppError } from '#errors';
import { findRefusal } from '#shares';
import type { CallerIds, CallerLevel, Level } from '#shares';
import { addShareUse, lockHeldShares, setShareUse } from '../repository/share-use.ts';

interface FileSpaceLimits {
  readonly db: Database;
  /** Of all files together. */
  readonly bytesMax: number;
  readonly levels: readonly Level<CallerLevel>[];
}

/** Room in the object store, out of the caller's share; held for as long as files are kept. */
export interface FileSpace {
  open(caller: CallerIds, fileId: string): OpenFile;
}

export interface OpenFile {
  /** Before a file may be so long. Throws `rate_limited`, or `unavailable` when there is no room for anybody. */
  reach(size: number): Promise<void>;
  /** The file is whole, or 0: nothing of it is kept. */
  close(size: number): Promise<void>;
}

/** Room is taken in pieces: asking for each message would cost more than writing it. */
const pieceBytes = { first: 1024 * 1024, more: 8 * 1024 * 1024 };
/** A small file counts for so much: messages and rows have a cost of their own. */
const fileBytesMin = 64 * 1024;
const retrySeconds = 600;

export function createFileSpace({ db, bytesMax, levels }: FileSpaceLimits): FileSpace {
  const take = (caller: CallerIds, id: string, amount: number) =>
    db.transaction(async (tx) => {
      const { orgId, userId, identityId } = caller;
      const use = { id, pool: 'files', orgId, userId, identityId } as const;
      const held = await lockHeldShares(tx, use);
      const refusal = findRefusal({ capacity: bytesMax, levels }, held, amount);
      if (refusal !== null) throw noRoom(refusal);
      await addShareUse(tx, { ...use, amount, seconds: fileHours * 3_600 });
    });
  return {
    open(caller, fileId) {
      let reserved = 0;
      return {
        async reach(size) {
          while (reserved < size) {
            const amount = reserved === 0 ? pieceBytes.first : pieceBytes.more;
            await take(caller, fileId, amount);
            reserved += amount;
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

function noRoom(whose: CallerLevel | 'pool'): AppError {
  if (whose === 'pool') {
    return new AppError('unavailable', 'The answer could not be stored; try again later.');
  }
  return new AppError(
    'rate_limited',
    `The files of this ${whose} fill its share of the store. They are kept for an hour; try again later.`,
    { details: { retry_after: retrySeconds } },
  );
}
