import { id as idSchema } from '#contracts/vocabulary';
import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { hashOfToken } from './domain/secret-request.ts';
import { mayWriteCredential, referenceOf } from '../credentials/domain/credential-rules.ts';
import { findSecretRequest } from './secret-request.sql.ts';
import type { SecretRequestRow } from './secret-request.sql.ts';

/**
 * Returns the secret request of a link to a person who may enter the secret: the user that owns it,
 * or an admin for the org's. For any other caller the link is `not_found`.
 */
export async function getOpenSecretRequest(
  sql: Sql,
  principal: Principal,
  token: string,
): Promise<SecretRequestRow> {
  const { orgId } = principal;
  const request = await findSecretRequest(sql, {
    orgId,
    tokenHash: hashOfToken(token),
    id: idSchema.safeParse(token).data ?? null,
  });
  if (request === undefined || !mayWriteCredential(principal, request)) {
    throw new AppError(
      'not_found',
      'There is no such link for you; sign in as the person it was meant for, or ask for another.',
    );
  }
  if (request.isProvided) throw linkAlreadyUsedError();
  if (request.isExpired) {
    throw new AppError(
      'expired',
      'This link is too old, or its request was declined or taken back. If the secret is still needed, ask the sender of the link for a new one.',
    );
  }
  return request;
}

export function linkAlreadyUsedError(): AppError {
  return new AppError('expired', 'The secret was entered already; this link works only once.');
}

export function nameTakenError(secret: { tier: SecretRequestRow['tier']; name: string }): AppError {
  return new AppError(
    'conflict',
    `A secret "${referenceOf(secret)}" exists already; use it, or ask for another name.`,
    { details: { secret: referenceOf(secret) } },
  );
}
