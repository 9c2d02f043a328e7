import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { findFile } from './file.sql.ts';
import type { FoundFile } from './file.sql.ts';

/**
 * Returns a file for download. Throws `not_found` when the caller may not download the file, and
 * `expired` when the file is older than an hour.
 */
export async function getFile(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, id }: { principal: string; id: string },
): Promise<Omit<FoundFile, 'isExpired'>> {
  const { orgId, identityId } = readPrincipal(principal);
  const storedFile = await findFile(db, { orgId, id, identityId });
  if (storedFile === undefined) throw new AppError('not_found', 'There is no such file.');
  const { isExpired, ...file } = storedFile;
  if (!isExpired) return file;
  throw new AppError(
    'expired',
    'Files are kept for an hour, and that is over. Make the call again if it was a read.',
  );
}
