import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { deleteSecret as deleteStoredSecret } from '../repository/secret.ts';
import { secretEvent } from '../secrets/event.ts';
import { noSuchSecret } from '../secrets/get-visible.ts';
import { getWritableSecret } from '../secrets/get-writable.ts';

/** Deletes a secret with all its versions; calls that need it answer `credential_missing` from then on. */
export async function deleteSecret(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<Record<string, never>> {
  const principal = readPrincipal(signed);
  await db.transaction(async (tx) => {
    const secret = await getWritableSecret(tx, principal, id);
    if (!(await deleteStoredSecret(tx, { orgId: principal.orgId, id }))) throw noSuchSecret();
    const text = `Deleted secret ${secret.name}`;
    await appendEvent(tx, secretEvent('secret.deleted', { principal, context, secret, text }));
  });
  vault.forget(id);
  return {};
}
