import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { normaliseBaseUrl } from '../domain/service-address.ts';
import { insertKnownAddress } from '../repository/known-address.ts';

/**
 * Keeps a base URL that an admin gives for a service: it may be one that no template has, so the
 * registry cannot be the one to say it.
 */
export async function recordAddress(
  { db, readPrincipal, newId }: Pick<Deps, 'db' | 'readPrincipal' | 'newId'>,
  { principal, baseUrl: given }: { principal: string; baseUrl: string },
): Promise<Record<string, never>> {
  const { kind, role, orgId, identityId } = readPrincipal(principal);
  if (kind !== 'user' || role !== 'admin') {
    throw new AppError('forbidden', 'Only an admin gives a base_url.');
  }
  const baseUrl = normaliseBaseUrl(given);
  if (baseUrl === undefined) return {};
  await insertKnownAddress(db, { id: newId(), orgId, baseUrl, givenBy: identityId });
  return {};
}
