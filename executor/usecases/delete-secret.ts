import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { mayWriteSecret } from '../domain/secret-rules.ts';
import { deleteSecret as deleteStoredSecret } from '../repository/secret.ts';
import { secretEvent } from '../secrets/event.ts';
import { getVisibleSecret } from '../secrets/get-visible.ts';

/** Deletes a secret with all its versions; calls that need it answer `credential_missing` from then on. */
export async function deleteSecret(
  { db, verifyPrincipal }: Pick<Deps, 'db' | 'verifyPrincipal'>,
  { principal: signed, id }: { principal: string; id: string },
): Promise<Record<string, never>> {
  const principal = verifyPrincipal(signed);
  await db.transaction(async (tx) => {
    const secret = await getVisibleSecret(tx, principal, id);
    if (!mayWriteSecret(principal, secret)) {
      throw new AppError(
        'forbidden',
        'Only the owner of a secret, or an admin for the org, deletes it.',
      );
    }
    if (!(await deleteStoredSecret(tx, { orgId: principal.orgId, id }))) {
      throw new AppError('not_found', 'There is no such secret.');
    }
    const text = `Deleted secret ${secret.name}`;
    await appendEvent(tx, secretEvent('secret.deleted', { principal, secret, text }));
  });
  return {};
}
