import type { Org as PublicOrg } from '#contracts/http/users';
import { readAdminOrAuditor } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { presentOrg } from './domain/present-org.ts';
import { getOrgProfile } from './orgs.sql.ts';

export async function getOrg(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
): Promise<PublicOrg> {
  const { orgId } = readAdminOrAuditor({ readPrincipal }, principal);
  return presentOrg(await getOrgProfile(db, { orgId }));
}
