import type { Deps } from '../deps.ts';
import { listDisplayNames as findDisplayNames } from './display-names.sql.ts';

/** The display names of the people who own identities of the caller's org. */
export async function listDisplayNames(
  { db, readPrincipal }: Deps,
  { principal, ids }: { principal: string; ids: string[] },
): Promise<{ names: { id: string; displayName: string }[] }> {
  const { orgId } = readPrincipal(principal);
  return { names: await findDisplayNames(db, { orgId, ids }) };
}
