import type { Principal } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { hashOfToken } from '../domain/secret-request.ts';
import { mayWriteCredential, referenceOf } from '../domain/credential-rules.ts';
import { findSecretRequest } from '../repository/secret-request.ts';
import type { SecretRequestRow } from '../repository/secret-request.ts';

/**
 * The request of a link, for the person who may enter its secret: its user, or an admin for the
 * org. To everybody else no link exists.
 */
export async function getOpenRequest(
  sql: Sql,
  principal: Principal,
  token: string,
): Promise<SecretRequestRow> {
  const { orgId } = principal;
  const request = await findSecretRequest(sql, { orgId, tokenHash: hashOfToken(token) });
  if (request === undefined || !mayWriteCredential(principal, request)) {
    throw new AppError(
      'not_found',
      'There is no such link for you; sign in as the person it was meant for, or ask for another.',
    );
  }
  if (request.isProvided) throw usedUp();
  if (request.isExpired) {
    throw new AppError('expired', 'This link is too old; ask whoever sent it for a new one.');
  }
  return request;
}

export function usedUp(): AppError {
  return new AppError('expired', 'The secret was entered already; this link works only once.');
}

export function nameTaken(secret: { tier: SecretRequestRow['tier']; name: string }): AppError {
  return new AppError(
    'conflict',
    `A secret "${referenceOf(secret)}" exists already; use it, or ask for another name.`,
    { details: { secret: referenceOf(secret) } },
  );
}
