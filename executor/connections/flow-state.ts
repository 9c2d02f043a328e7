import { createHash } from 'node:crypto';

import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { OrgBinding } from '../vault/vault.ts';

/** What is stored of a state. */
export function hashOfState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}

/** The verifier of one beginning: of a flow that is begun once more, the earlier one opens no more. */
export function flowBinding({
  orgId,
  id,
  stateHash,
}: {
  orgId: string;
  id: string;
  stateHash: Buffer;
}): OrgBinding {
  const recordId = `${id} ${stateHash.toString('hex')}`;
  return { orgId, recordId, version: 1, purpose: 'connection_flow' };
}

/** A flow is begun and finished in one browser session; no other credential stands for a browser. */
export function sessionOf({ credential, kind }: Principal): string {
  if (kind === 'user' && credential.kind === 'session') return credential.id;
  throw new AppError('forbidden', 'Open the link in a browser in which you are signed in.');
}
