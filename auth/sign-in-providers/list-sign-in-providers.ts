import type { PublicSignInProvider } from '#contracts/http/sign-in';
import { readAdminOrAuditor } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { presentProvider } from './present-provider.ts';
import { providersMax } from './provider-changes.ts';

export async function listSignInProviders(
  deps: Deps,
  { principal }: { principal: string },
): Promise<{ items: PublicSignInProvider[] }> {
  const { orgId } = readAdminOrAuditor(deps, principal);
  const signInProviders = await deps.providers.list(orgId);
  return {
    items: signInProviders.slice(0, providersMax).map((each) => presentProvider(deps, each)),
  };
}
