import type { Database, Transaction } from '#database';
import { appendEvent } from '#events';
import { expireRequests, expireRequestsOf } from './person-request.sql.ts';
import type { UserKey } from './person-request.sql.ts';
import type { PersonRequest } from './person-request-row.sql.ts';
import { createClosedEvent } from './request-event.ts';
import { listAnsweredSecretRequests } from './secret-link.sql.ts';
import { settleInTransaction } from './settle-request.ts';

/** Closes the requests that nobody answered in time, and announces each of them once. */
export async function expirePersonRequests(
  db: Database,
  { limit }: { limit: number },
): Promise<void> {
  await db.transaction(async (tx) => {
    for (const request of await listAnsweredSecretRequests(tx, { limit })) {
      await settleInTransaction(tx, { decidedBy: null, audit: {} }, { request, status: 'ready' });
    }
    await announceExpired(tx, await expireRequests(tx, { limit }));
  });
}

/** Expires the overdue requests of one user now, so that its agents can ask for the same again. */
export async function expirePersonRequestsOf(tx: Transaction, user: UserKey): Promise<void> {
  await announceExpired(tx, await expireRequestsOf(tx, user));
}

async function announceExpired(tx: Transaction, expired: readonly PersonRequest[]): Promise<void> {
  for (const request of expired) {
    await appendEvent(tx, createClosedEvent(null, { ...request, status: 'expired' }));
  }
}
