import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import { readAdmin } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { deleteProvider } from '../repository/sign-in-providers.ts';
import { noSuchProvider, providerChanged, refuseFixed } from '../sign-in/provider-changes.ts';

export async function deleteSignInProvider(
  deps: Deps,
  { principal, key, context }: { principal: string; key: string; context: CallContext },
): Promise<Record<string, never>> {
  const caller = readAdmin(deps, principal);
  const { orgId } = caller;
  await refuseFixed(deps, { orgId, key });
  await deps.db.transaction(async (tx) => {
    if (!(await deleteProvider(tx, { orgId, key }))) throw noSuchProvider();
    const what = `removed the sign-in provider ${key}`;
    await appendEvent(tx, providerChanged({ caller, context }, key, what));
  });
  return {};
}
