import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { normaliseBaseUrl } from '#templates';
import { insertKnownAddress } from './known-address.sql.ts';

/**
 * Records a base URL that an admin gives for a service. No template contains this URL, and policy
 * does not trust the registry to say that an admin gave it.
 */
export async function recordAddress(
  { db, readPrincipal, newId }: Pick<Deps, 'db' | 'readPrincipal' | 'newId'>,
  { principal, baseUrl: givenUrl }: { principal: string; baseUrl: string },
): Promise<Record<string, never>> {
  const { kind, role, orgId, identityId } = readPrincipal(principal);
  if (kind !== 'user' || role !== 'admin') {
    throw new AppError('forbidden', 'Only an admin gives a base_url.');
  }
  const baseUrl = normaliseBaseUrl(givenUrl);
  if (baseUrl === undefined) return {};
  await insertKnownAddress(db, { id: newId(), orgId, baseUrl, givenBy: identityId });
  return {};
}
