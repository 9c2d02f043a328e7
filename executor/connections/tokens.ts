import { z } from 'zod';

import type { Sql } from '#database';
import type { Binding } from '../domain/sealing.ts';
import type { Vault } from '../vault/vault.ts';

/** What is sealed of a connection. */
const tokens = z.strictObject({ accessToken: z.string(), refreshToken: z.string().nullable() });
export type Tokens = z.infer<typeof tokens>;

interface Place {
  readonly orgId: string;
  readonly id: string;
  readonly version: number;
}

export function tokensBinding({ orgId, id, version }: Place): Binding {
  return { orgId, recordId: id, version, purpose: 'connection_tokens' };
}

export function sealTokens(
  sql: Sql,
  vault: Vault,
  { place, content }: { place: Place; content: Tokens },
): Promise<Buffer> {
  return vault.seal(sql, tokensBinding(place), JSON.stringify(content));
}

export function parseTokens(text: string): Tokens {
  return tokens.parse(JSON.parse(text));
}

/** A minute before the end, but never in the first half of a short life. */
export function marginOf(expiresInSeconds: number | null): number {
  return expiresInSeconds === null ? 0 : Math.min(60, Math.floor(expiresInSeconds / 2));
}
