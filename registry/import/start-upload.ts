import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { upload } from '#contracts/http/template-import';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { checkMayWrite } from '../templates/domain/own-template.ts';
import { presentUpload } from './domain/present-import.ts';
import { insertUpload, pruneUploads } from './upload.sql.ts';

const uploadsPerUserMax = 5;

/** Starts an upload in parts. Also deletes expired uploads. */
export async function startUpload(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, text }: { principal: string; text: string },
): Promise<z.infer<typeof upload>> {
  const caller = readPrincipal(principal);
  checkMayWrite(caller, 'user');
  const { orgId, userId: ownerId } = caller;
  const startedUpload = await db.transaction(async (tx) => {
    await pruneUploads(tx);
    return insertUpload(tx, {
      id: uuidv7(),
      orgId,
      ownerId,
      partId: uuidv7(),
      text,
      most: uploadsPerUserMax,
    });
  });
  if (startedUpload === undefined) {
    const message = `There may be at most ${uploadsPerUserMax} uploads in an hour; import what is uploaded, or wait.`;
    throw new AppError('conflict', message);
  }
  return presentUpload(startedUpload);
}
