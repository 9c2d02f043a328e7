import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import { importBytesMax } from '#contracts/http/template-import';
import type { upload } from '#contracts/http/template-import';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { presentUpload } from './domain/present-import.ts';
import { findUpload, appendToUpload } from './upload.sql.ts';

interface ContinueUploadFields {
  readonly principal: string;
  readonly id: string;
  readonly text: string;
  readonly offset: number;
}

/**
 * Appends the next part of a document to an upload. Refuses a part whose offset is not the size of
 * the upload so far, such as a part that is sent twice or that follows a lost part.
 */
export async function continueUpload(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, id, text, offset }: ContinueUploadFields,
): Promise<z.infer<typeof upload>> {
  const { orgId, userId: ownerId } = readPrincipal(principal);
  if (offset + Buffer.byteLength(text) > importBytesMax) {
    throw new AppError('too_large', 'A document may have at most 64 MiB; send less of it.');
  }
  const ownedUpload = { id, orgId, ownerId };
  const uploadPart = { ...ownedUpload, partId: uuidv7(), text, offset };
  const extendedUpload = await db.transaction((tx) => appendToUpload(tx, uploadPart));
  if (extendedUpload !== undefined) return presentUpload(extendedUpload);
  const storedUpload = await findUpload(db, ownedUpload);
  if (storedUpload === undefined) throw uploadNotFound();
  const message = `The document has ${storedUpload.size} bytes so far; send the part that follows.`;
  throw new AppError('conflict', message, { details: { size: storedUpload.size } });
}

export function uploadNotFound(): AppError {
  return new AppError(
    'not_found',
    'There is no such upload; begin again at /v1/templates/uploads.',
  );
}
