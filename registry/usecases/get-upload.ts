import type { z } from 'zod';

import type { upload } from '#contracts/http/template-import';
import type { Deps } from '../deps.ts';
import { presentUpload } from '../domain/present-import.ts';
import { findUpload } from '../repository/upload.ts';
import { noUpload } from './continue-upload.ts';

/** How far an upload is, and its import. Nobody's but its owner's. */
export async function getUpload(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, id }: { principal: string; id: string },
): Promise<z.infer<typeof upload>> {
  const { orgId, userId: ownerId } = readPrincipal(principal);
  const found = await findUpload(db, { id, orgId, ownerId });
  if (found === undefined) throw noUpload();
  return presentUpload(found);
}
