import type { Transaction } from '#database';
import { appendEvent } from '#events';
import type { Announcement } from '../domain/announce.ts';

/** Stores the event and its audit entry in the transaction of the move it reports. */
export async function announce(tx: Transaction, announcement: Announcement): Promise<void> {
  await appendEvent(tx, announcement);
}
