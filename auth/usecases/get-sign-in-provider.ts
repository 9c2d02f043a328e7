import type { PublicSignInProvider } from '#contracts/http/sign-in';
import { readReader } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { presentProvider } from '../sign-in/present-provider.ts';
import { getProvider } from '../sign-in/provider-changes.ts';

export async function getSignInProvider(
  deps: Deps,
  { principal, key }: { principal: string; key: string },
): Promise<PublicSignInProvider> {
  const { orgId } = readReader(deps, principal);
  return presentProvider(deps, await getProvider(deps, { orgId, key }));
}
