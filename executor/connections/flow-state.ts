import { createHash } from 'node:crypto';

import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { OrgSealContext } from '../vault/vault.ts';

/** The hash of a `state` parameter. Only the hash is stored. */
export function hashOfState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}

/**
 * The seal context of the sealed PKCE verifier of a flow. It contains the `state`: when a flow begins
 * again with a new `state`, the earlier verifier cannot be opened.
 */
export function flowSealContextOf({
  orgId,
  id,
  stateHash,
}: {
  orgId: string;
  id: string;
  stateHash: Buffer;
}): OrgSealContext {
  const recordId = `${id} ${stateHash.toString('hex')}`;
  return { orgId, recordId, version: 1, purpose: 'connection_flow' };
}

/**
 * The browser session of the caller. Throws for any other credential, because a flow must begin and
 * end in one browser session.
 */
export function sessionIdOf({ credential, kind }: Principal): string {
  if (kind === 'user' && credential.kind === 'session') return credential.id;
  throw new AppError('forbidden', 'Open the link in a browser in which you are signed in.');
}
