import type { Deps } from '../deps.ts';
import { findOrgToSignIn } from '../orgs/orgs.sql.ts';

/**
 * Lists what the sign-in page offers for an org. An unknown org looks like an org without
 * providers.
 */
export async function listSignInOptions(
  { db, providers }: Deps,
  { org: orgName }: { org: string | null },
): Promise<{ needsOrg: boolean; providers: { key: string; name: string }[] }> {
  const org = await findOrgToSignIn(db, { name: orgName });
  if (org === undefined) return { needsOrg: orgName === null, providers: [] };
  const signInProviders = await providers.list(org.id);
  return {
    needsOrg: false,
    providers: signInProviders.slice(0, 100).map(({ key, name }) => ({ key, name })),
  };
}
