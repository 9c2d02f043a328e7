import { z } from 'zod';

import { readTolerantly } from '#contracts/tolerant';
import type { Sql } from '#database';
import { AppError } from '#errors';
import type { OrgSealContext, Vault } from '../vault/vault.ts';

/** The plaintext of a connection's sealed tokens. */
const tokens = z.strictObject({ accessToken: z.string(), refreshToken: z.string().nullable() });
export type Tokens = z.infer<typeof tokens>;

interface TokensPlace {
  readonly orgId: string;
  readonly id: string;
  readonly version: number;
}

function tokensSealContextOf({ orgId, id, version }: TokensPlace): OrgSealContext {
  return { orgId, recordId: id, version, purpose: 'connection_tokens' };
}

export function sealTokens(
  sql: Sql,
  vault: Vault,
  { place, content }: { place: TokensPlace; content: Tokens },
): Promise<Buffer> {
  return vault.seal(sql, tokensSealContextOf(place), JSON.stringify(content));
}

/**
 * Decrypts the tokens of a connection, or throws `reauth_required` with `auth_url`. Tokens that
 * cannot be decrypted stay stored: the owner may replace them, and the operator may restore the
 * right ciphertext.
 */
export function readTokens(
  open: (sealContext: OrgSealContext, sealed: Uint8Array) => string,
  sealedRow: TokensPlace & { readonly sealed: Uint8Array },
  authUrlOf: (connectionId: string) => string,
): Tokens {
  const { id, sealed } = sealedRow;
  try {
    const parseResult = readTolerantly(
      tokens,
      JSON.parse(open(tokensSealContextOf(sealedRow), sealed)),
    );
    if (!parseResult.success) throw parseResult.error;
    return parseResult.data;
  } catch (error) {
    if (!isUnreadableError(error)) throw error;
    const details = { auth_url: authUrlOf(id), connection_id: id };
    throw new AppError(error.code, error.message, { details, cause: error });
  }
}

/** Decrypts tokens that are about to be revoked or replaced. Null when they cannot be decrypted. */
export async function readTokensIfAny(
  sql: Sql,
  vault: Vault,
  sealedRow: TokensPlace & { readonly sealed: Uint8Array },
): Promise<Tokens | null> {
  try {
    return readTokens(await vault.openerOf(sql, sealedRow.orgId), sealedRow, () => '');
  } catch (error) {
    // The code `unavailable` means that the org's data key cannot be decrypted, so the tokens
    // cannot be decrypted either.
    if (isUnreadableError(error) || AppError.from(error).code === 'unavailable') return null;
    throw error;
  }
}

function isUnreadableError(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'reauth_required';
}

/** How long before it expires a token is refreshed: a minute, but at most half of its lifetime. */
export function refreshMarginOf(expiresInSeconds: number | null): number {
  return expiresInSeconds === null ? 0 : Math.min(60, Math.floor(expiresInSeconds / 2));
}
