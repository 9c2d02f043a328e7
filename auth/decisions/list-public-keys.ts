import type { Handlers } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { Deps } from '../deps.ts';
import { listDecisionKeys } from './decision-keys.sql.ts';

/**
 * Lists the public keys that verify signed decisions, each with the time during which auth signed
 * with it.
 */
export async function listPublicKeys({
  db,
}: Pick<Deps, 'db'>): ReturnType<Handlers<typeof auth>['listPublicKeys']> {
  const keys = await listDecisionKeys(db);
  return {
    keys: keys.map(({ id, publicKey, usedFrom, usedUntil }) => ({
      id,
      use: 'decision',
      algorithm: 'Ed25519',
      public_key: publicKey,
      used_from: usedFrom.toISOString(),
      used_until: usedUntil?.toISOString() ?? null,
    })),
  };
}
