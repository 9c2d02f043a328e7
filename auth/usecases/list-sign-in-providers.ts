import type { PublicSignInProvider } from '#contracts/http/sign-in';
import { readReader } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { presentProvider } from '../sign-in/present-provider.ts';
import { providersMax } from '../sign-in/provider-changes.ts';

export async function listSignInProviders(
  deps: Deps,
  { principal }: { principal: string },
): Promise<{ items: PublicSignInProvider[] }> {
  const { orgId } = readReader(deps, principal);
  const found = await deps.providers.list(orgId);
  return { items: found.slice(0, providersMax).map((each) => presentProvider(deps, each)) };
}
