import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { deleteSecret as deleteStoredSecret } from './secret.sql.ts';
import { createSecretEvent } from './secret-event.ts';
import { noSuchSecretError } from './get-visible-secret.ts';
import { getWritableSecret } from './get-writable-secret.ts';

/**
 * Deletes a secret with all its versions. Calls that need the secret then fail with
 * `credential_missing`.
 */
export async function deleteSecret(
  { db, vault, readPrincipal }: Pick<Deps, 'db' | 'vault' | 'readPrincipal'>,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<Record<string, never>> {
  const principal = readPrincipal(signed);
  await db.transaction(async (tx) => {
    const secret = await getWritableSecret(tx, principal, id);
    if (!(await deleteStoredSecret(tx, { orgId: principal.orgId, id }))) throw noSuchSecretError();
    const text = `Deleted secret ${secret.name}`;
    await appendEvent(
      tx,
      createSecretEvent('secret.deleted', { principal, context, secret, text }),
    );
  });
  vault.forget(id);
  return {};
}
