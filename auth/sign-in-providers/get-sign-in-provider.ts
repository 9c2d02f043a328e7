import type { PublicSignInProvider } from '#contracts/http/sign-in';
import { readAdminOrAuditor } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { presentProvider } from './present-provider.ts';
import { getProvider } from './provider-changes.ts';

export async function getSignInProvider(
  deps: Deps,
  { principal, key }: { principal: string; key: string },
): Promise<PublicSignInProvider> {
  const { orgId } = readAdminOrAuditor(deps, principal);
  return presentProvider(deps, await getProvider(deps, { orgId, key }));
}
