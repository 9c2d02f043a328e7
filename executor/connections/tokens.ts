import { z } from 'zod';

import type { Sql } from '#database';
import { AppError } from '#errors';
import type { OrgBinding, Vault } from '../vault/vault.ts';

/** What is sealed of a connection. */
const tokens = z.strictObject({ accessToken: z.string(), refreshToken: z.string().nullable() });
export type Tokens = z.infer<typeof tokens>;

interface Place {
  readonly orgId: string;
  readonly id: string;
  readonly version: number;
}

function tokensBinding({ orgId, id, version }: Place): OrgBinding {
  return { orgId, recordId: id, version, purpose: 'connection_tokens' };
}

export function sealTokens(
  sql: Sql,
  vault: Vault,
  { place, content }: { place: Place; content: Tokens },
): Promise<Buffer> {
  return vault.seal(sql, tokensBinding(place), JSON.stringify(content));
}

/**
 * Opens the tokens of a connection, or throws `reauth_required` with `auth_url`. What does not open
 * stays where it is: the owner may replace it, and the operator may restore it.
 */
export function readTokens(
  open: (binding: OrgBinding, sealed: Uint8Array) => string,
  stored: Place & { readonly sealed: Uint8Array },
  authUrlOf: (connectionId: string) => string,
): Tokens {
  const { id, sealed } = stored;
  try {
    return tokens.parse(JSON.parse(open(tokensBinding(stored), sealed)));
  } catch (thrown) {
    if (!isUnreadable(thrown)) throw thrown;
    const details = { auth_url: authUrlOf(id), connection_id: id };
    throw new AppError(thrown.code, thrown.message, { details, cause: thrown });
  }
}

/** For who ends or replaces the tokens of a connection: null when they do not open. */
export async function readTokensIfAny(
  sql: Sql,
  vault: Vault,
  stored: Place & { readonly sealed: Uint8Array },
): Promise<Tokens | null> {
  try {
    return readTokens(await vault.openerOf(sql, stored.orgId), stored, () => '');
  } catch (thrown) {
    // `unavailable`: the org's key does not open, and its tokens do even less.
    if (isUnreadable(thrown) || AppError.from(thrown).code === 'unavailable') return null;
    throw thrown;
  }
}

function isUnreadable(thrown: unknown): thrown is AppError {
  return thrown instanceof AppError && thrown.code === 'reauth_required';
}

/** A minute before the end, but never in the first half of a short life. */
export function marginOf(expiresInSeconds: number | null): number {
  return expiresInSeconds === null ? 0 : Math.min(60, Math.floor(expiresInSeconds / 2));
}
