import { createHash } from 'node:crypto';

import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Binding } from '../domain/sealing.ts';

/** What is stored of a state. */
export function hashOfState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}

export function flowBinding({ orgId, id }: { orgId: string; id: string }): Binding {
  return { orgId, recordId: id, version: 1, purpose: 'connection_flow' };
}

/** A flow is begun and finished in one browser session; no other credential stands for a browser. */
export function sessionOf({ credential, kind }: Principal): string {
  if (kind === 'user' && credential.kind === 'session') return credential.id;
  throw new AppError('forbidden', 'Open the link in a browser in which you are signed in.');
}
