import type { z } from 'zod';

import type { upload } from '#contracts/http/template-import';
import type { Deps } from '../deps.ts';
import { presentUpload } from './domain/present-import.ts';
import { findUpload } from './upload.sql.ts';
import { uploadNotFound } from './continue-upload.ts';

/**
 * Returns the progress of an upload and of its import. Only the owner of the upload may read it.
 */
export async function getUpload(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, id }: { principal: string; id: string },
): Promise<z.infer<typeof upload>> {
  const { orgId, userId: ownerId } = readPrincipal(principal);
  const storedUpload = await findUpload(db, { id, orgId, ownerId });
  if (storedUpload === undefined) throw uploadNotFound();
  return presentUpload(storedUpload);
}
