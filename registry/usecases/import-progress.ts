import { v7 as uuidv7 } from 'uuid';

import type { ImportProgress } from '#contracts/http/template-import';
import { repeat } from '#process';
import type { Deps } from '../deps.ts';
import { beginImport, endImport, saveProgress } from '../repository/upload.ts';

const writeEveryMs = 500;

/**
 * Runs the import of an upload and keeps what it tells where every replica finds it. Written
 * again and again, changed or not: an import that is not seen for 15 seconds has died.
 */
export async function withProgress<Result>(
  { db, logger }: Pick<Deps, 'db' | 'logger'>,
  upload: { readonly id: string; readonly orgId: string; readonly ownerId: string },
  work: (tell: (progress: ImportProgress) => void) => Promise<Result>,
): Promise<Result> {
  const run = { ...upload, importId: uuidv7() };
  let progress: ImportProgress = { phase: 'waiting', done: 0, total: null };
  // Progress is a courtesy: what cannot be written must not fail the import.
  const attempt = (write: Promise<void>) =>
    write.catch((error: unknown) => {
      logger.warn({ err: error }, 'the progress of an import could not be written');
    });
  await attempt(beginImport(db, { ...run, progress }));
  const writing = repeat(writeEveryMs, () => attempt(saveProgress(db, { ...run, progress })));
  try {
    return await work((latest) => {
      progress = latest;
    });
  } finally {
    await writing[Symbol.asyncDispose]();
    await attempt(endImport(db, run));
  }
}
