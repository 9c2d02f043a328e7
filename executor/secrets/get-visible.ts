import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { maySeeCredential } from '../domain/credential-rules.ts';
import { findSecret } from '../repository/secret.ts';
import type { StoredSecret } from '../repository/secret.ts';

/** A secret the caller may know of; one it may not is as absent as a random id. */
export async function getVisibleSecret(
  sql: Sql,
  principal: Principal,
  id: string,
): Promise<StoredSecret> {
  const secret = await findSecret(sql, { orgId: principal.orgId, id });
  if (secret && maySeeCredential(principal, secret)) return secret;
  throw noSuchSecret();
}

export function noSuchSecret(): AppError {
  return new AppError('not_found', 'There is no such secret.');
}
