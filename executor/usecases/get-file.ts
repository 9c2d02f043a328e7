import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { findFile } from '../repository/file.ts';
import type { FoundFile } from '../repository/file.ts';

/** `not_found` for whoever it is not for, `expired` for the others once its hour is over. */
export async function getFile(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, id }: { principal: string; id: string },
): Promise<Omit<FoundFile, 'isExpired'>> {
  const { orgId, identityId } = readPrincipal(principal);
  const found = await findFile(db, { orgId, id, identityId });
  if (found === undefined) throw new AppError('not_found', 'There is no such file.');
  const { isExpired, ...file } = found;
  if (!isExpired) return file;
  throw new AppError(
    'expired',
    'Files are kept for an hour, and that is over. Make the call again if it was a read.',
  );
}
