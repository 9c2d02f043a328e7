import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { mayWriteCredential } from '../credentials/domain/credential-rules.ts';
import type { StoredSecret } from './secret.sql.ts';
import { getVisibleSecret } from './get-visible-secret.ts';

/**
 * Returns a secret that the caller may change: its owner may, and an admin may change the org's.
 */
export async function getWritableSecret(
  sql: Sql,
  principal: Principal,
  id: string,
): Promise<StoredSecret> {
  const secret = await getVisibleSecret(sql, principal, id);
  if (mayWriteCredential(principal, secret)) return secret;
  throw new AppError(
    'forbidden',
    'Only the owner of a secret, or an admin for the org, changes or deletes it.',
  );
}
