import type { AuditEntry } from '#contracts/audit';
import type { IdentityReference } from '#contracts/vocabulary';
import type { Database, Transaction } from '#database';
import { appendEvent } from '#events';
import { actorOf, identityOf } from '../credentials/actor.ts';
import type { Actor } from '../credentials/actor.ts';
import { alreadyClosedError } from './get-visible-request.ts';
import { closeRequest, findRequest } from './person-request.sql.ts';
import type { Closing } from './person-request.sql.ts';
import type { PersonRequest } from './person-request-row.sql.ts';
import { endSecretLink } from './secret-link.sql.ts';
import { createClosedEvent } from './request-event.ts';

interface RequestSettlement extends Omit<Closing, 'orgId' | 'id' | 'decidedBy'> {
  readonly request: Pick<PersonRequest, 'orgId' | 'id'>;
}

/** The identity that closes a request, and the same identity as fields of the audit record. */
export interface Closer {
  readonly decidedBy: IdentityReference | null;
  readonly audit: Partial<AuditEntry>;
}

/**
 * Closes an open request and announces that. Undefined when the request was closed or had expired
 * before.
 */
export async function settleInTransaction(
  tx: Transaction,
  { decidedBy, audit }: Closer,
  { request: { orgId, id }, ...closing }: RequestSettlement,
): Promise<PersonRequest | undefined> {
  const closed = await closeRequest(tx, { orgId, id, decidedBy, ...closing });
  if (closed !== undefined) {
    if (closed.kind === 'secret' && closed.status !== 'ready') await endSecretLink(tx, closed);
    await appendEvent(tx, createClosedEvent(audit, { ...closed, status: closing.status }));
  }
  return closed;
}

/** Like `settleInTransaction`, in a transaction of this request alone. */
export async function settleAlone(
  db: Database,
  closer: Closer,
  settling: RequestSettlement,
): Promise<PersonRequest | undefined> {
  return db.transaction((tx) => settleInTransaction(tx, closer, settling));
}

export function closerOf(by: Actor): Closer {
  return { decidedBy: identityOf(by.principal), audit: actorOf(by) };
}

/**
 * Like `settleAlone`, but throws when the request is closed already. The error contains how it was
 * closed.
 */
export async function settleRequest(
  db: Database,
  by: Actor,
  settling: RequestSettlement,
): Promise<PersonRequest> {
  const closed = await settleAlone(db, closerOf(by), settling);
  if (closed !== undefined) return closed;
  throw await closedMeanwhileError(db, settling.request);
}

/** The error for a request that somebody else has closed in the meantime. */
export async function closedMeanwhileError(
  db: Database,
  { orgId, id }: Pick<PersonRequest, 'orgId' | 'id'>,
): Promise<Error> {
  const currentRequest = await findRequest(db, { orgId, id });
  if (currentRequest === undefined) throw new Error('an open request is gone');
  return alreadyClosedError(currentRequest);
}
