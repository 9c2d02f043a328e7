import type { Org as PublicOrg } from '#contracts/http/users';
import { readReader } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { presentOrg } from '../domain/present-org.ts';
import { getOrgProfile } from '../repository/orgs.ts';

export async function getOrg(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
): Promise<PublicOrg> {
  const { orgId } = readReader({ readPrincipal }, principal);
  return presentOrg(await getOrgProfile(db, { orgId }));
}
