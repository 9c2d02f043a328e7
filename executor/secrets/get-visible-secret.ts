import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { maySeeCredential } from '../credentials/domain/credential-rules.ts';
import { findSecret } from './secret.sql.ts';
import type { StoredSecret } from './secret.sql.ts';

/**
 * Returns a secret that the caller may see. For a secret that the caller may not see, throws the
 * same `not_found` as for an id that does not exist.
 */
export async function getVisibleSecret(
  sql: Sql,
  principal: Principal,
  id: string,
): Promise<StoredSecret> {
  const secret = await findSecret(sql, { orgId: principal.orgId, id });
  if (secret && maySeeCredential(principal, secret)) return secret;
  throw noSuchSecretError();
}

export function noSuchSecretError(): AppError {
  return new AppError('not_found', 'There is no such secret.');
}
