import { v7 as uuidv7 } from 'uuid';

import type { ImportProgress } from '#contracts/http/template-import';
import { repeat } from '#process';
import type { Deps } from '../deps.ts';
import { beginImport, endImport, saveProgress } from './upload.sql.ts';

const writeEveryMs = 500;

/**
 * Runs the import of an upload, and stores its progress in the database for all replicas. Stores it
 * regularly, even when it has not changed: an import without an update for 15 seconds counts as
 * dead.
 */
export async function withProgress<Result>(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  upload: { readonly id: string; readonly orgId: string; readonly ownerId: string },
  runImport: (reportProgress: (progress: ImportProgress) => void) => Promise<Result>,
): Promise<Result> {
  const importRun = { ...upload, importId: uuidv7() };
  let progress: ImportProgress = { phase: 'waiting', done: 0, total: null };
  // Callers can do without the progress, so a failure to store it must not fail the import.
  const tryToWrite = (write: Promise<void>) =>
    write.catch((error: unknown) => {
      logger.warn({ err: error }, 'the progress of an import could not be written');
    });
  await tryToWrite(beginImport(db, { ...importRun, progress }));
  const progressWriter = repeat(writeEveryMs, () =>
    tryToWrite(saveProgress(db, { ...importRun, progress })),
  );
  try {
    return await runImport((latest) => {
      progress = latest;
    });
  } finally {
    await progressWriter[Symbol.asyncDispose]();
    await tryToWrite(endImport(db, importRun));
  }
}
