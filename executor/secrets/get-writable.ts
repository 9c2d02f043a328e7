import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { mayWriteCredential } from '../domain/credential-rules.ts';
import type { StoredSecret } from '../repository/secret.ts';
import { getVisibleSecret } from './get-visible.ts';

/** A secret the caller may change: its owner, or an admin for the org. */
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
