import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import type { upload } from '#contracts/http/template-import';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { checkMayWrite } from '../domain/own-template.ts';
import { presentUpload } from '../domain/present-import.ts';
import { insertUpload, pruneUploads } from '../repository/upload.ts';

const uploadsPerUserMax = 5;

/** Begins to take a document in parts. What expired is removed by whoever comes next. */
export async function startUpload(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, text }: { principal: string; text: string },
): Promise<z.infer<typeof upload>> {
  const caller = readPrincipal(principal);
  checkMayWrite(caller, 'user');
  const { orgId, userId: ownerId } = caller;
  const begun = await db.transaction(async (tx) => {
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
  if (begun === undefined) {
    const message = `There may be at most ${uploadsPerUserMax} uploads in an hour; import what is uploaded, or wait.`;
    throw new AppError('conflict', message);
  }
  return presentUpload(begun);
}
