import type { Deps } from '../deps.ts';
import { findOrgToSignIn } from '../repository/orgs.ts';

/** What the sign-in page offers in an org; nothing is told of an org that does not exist. */
export async function listSignInOptions(
  { db, providers }: Deps,
  { org: orgName }: { org: string | null },
): Promise<{ needsOrg: boolean; providers: { key: string; name: string }[] }> {
  const org = await findOrgToSignIn(db, { name: orgName });
  if (org === undefined) return { needsOrg: orgName === null, providers: [] };
  const found = await providers.list(org.id);
  return {
    needsOrg: false,
    providers: found.slice(0, 100).map(({ key, name }) => ({ key, name })),
  };
}
