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
 * when there is no secret with this name. Throws `conflict` when the stored secret was not refused.
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
 * Increments the version of the secret for its new value. The hosts can only become fewer: entering
 * a new value must not give the secret more hosts unnoticed.
 */
export async function replaceRefusedSecret(
  tx: Transaction,
  secret: NewSecret & { allowedHosts: string[] },
): Promise<StoredSecret | undefined> {
  const { orgId, allowedHosts } = secret;
  // The row is locked from here on, so its hosts cannot change in the meantime.
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
