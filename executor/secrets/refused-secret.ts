import type { Sql, Transaction } from '#database';
import { AppError } from '#errors';
import { nameTakenError } from './get-open-secret-request.ts';
import type { SecretRequestRow } from './secret-request.sql.ts';
import { findNamedSecret, updateSecret, upsertSecret } from './secret.sql.ts';
import type { NewSecret, StoredSecret } from './secret.sql.ts';

/** A stored secret whose current value a provider refused. */
export type RefusedSecret = StoredSecret & { readonly refusedAt: Date };

/**
 * The stored secret that the entered value will replace, because a provider refused it; undefined
 * when nothing is stored under the name. Throws `conflict` when what is stored was not refused.
 */
export async function findRefusedSecret(
  sql: Sql,
  wanted: Pick<SecretRequestRow, 'orgId' | 'ownerId' | 'name' | 'tier'>,
): Promise<RefusedSecret | undefined> {
  const secret = await findNamedSecret(sql, wanted);
  if (secret === undefined) return undefined;
  const { refusedAt } = secret;
  if (refusedAt === null) throw nameTakenError(wanted);
  return { ...secret, refusedAt };
}

/**
 * Counts up the version of the secret for its new value. It may go to fewer hosts than before, and to
 * no other ones: who is asked for a value should not widen by the way where it goes.
 */
export async function replaceRefusedSecret(
  tx: Transaction,
  secret: NewSecret & { allowedHosts: string[] },
): Promise<StoredSecret | undefined> {
  const { orgId, allowedHosts } = secret;
  // The row is locked from here on, so its hosts cannot change meanwhile.
  const stored = await upsertSecret(tx, { ...secret, allowedHosts: null });
  const added = allowedHosts.filter((host) => !stored.allowedHosts.includes(host));
  if (added.length > 0) {
    throw new AppError(
      'host_not_allowed',
      `A new value goes to the hosts of the stored one, and not to ${added.join(', ')}. Take that away; hosts are added to the secret itself (PATCH /v1/secrets/{id}).`,
      { details: { secret: secret.name, hosts: added } },
    );
  }
  return updateSecret(tx, { orgId, id: stored.id, description: undefined, allowedHosts });
}
