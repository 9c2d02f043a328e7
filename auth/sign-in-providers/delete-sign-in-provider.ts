import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import { readAdmin } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { deleteProvider } from './sign-in-providers.sql.ts';
import {
  noSuchProviderError,
  providerChangedEvent,
  refuseEnvironmentProvider,
} from './provider-changes.ts';

export async function deleteSignInProvider(
  deps: Deps,
  { principal, key, context }: { principal: string; key: string; context: CallContext },
): Promise<Record<string, never>> {
  const caller = readAdmin(deps, principal);
  const { orgId } = caller;
  await refuseEnvironmentProvider(deps, { orgId, key });
  await deps.db.transaction(async (tx) => {
    if (!(await deleteProvider(tx, { orgId, key }))) throw noSuchProviderError();
    const description = `removed the sign-in provider ${key}`;
    await appendEvent(tx, providerChangedEvent({ caller, context }, key, description));
  });
  return {};
}
