import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';

import { importBytesMax } from '#contracts/http/template-import';
import type { upload } from '#contracts/http/template-import';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { presentUpload } from '../domain/present-import.ts';
import { findUpload, growUpload } from '../repository/upload.ts';

interface ContinueUploadFields {
  readonly principal: string;
  readonly id: string;
  readonly text: string;
  readonly offset: number;
}

/** Takes the next part of a document. One that was lost or came twice does not fit any more. */
export async function continueUpload(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, id, text, offset }: ContinueUploadFields,
): Promise<z.infer<typeof upload>> {
  const { orgId, userId: ownerId } = readPrincipal(principal);
  if (offset + Buffer.byteLength(text) > importBytesMax) {
    throw new AppError('too_large', 'A document may have at most 64 MiB; send less of it.');
  }
  const owned = { id, orgId, ownerId };
  const part = { ...owned, partId: uuidv7(), text, offset };
  const grown = await db.transaction((tx) => growUpload(tx, part));
  if (grown !== undefined) return presentUpload(grown);
  const present = await findUpload(db, owned);
  if (present === undefined) throw noUpload();
  const message = `The document has ${present.size} bytes so far; send the part that follows.`;
  throw new AppError('conflict', message, { details: { size: present.size } });
}

export function noUpload(): AppError {
  return new AppError(
    'not_found',
    'There is no such upload; begin again at /v1/templates/uploads.',
  );
}
