import type { Transaction } from '#database';
import { appendEvent } from '#events';
import type { Announcement } from './domain/announcements.ts';

/**
 * Stores the event and its audit entry in the transaction that changes the approval or execution.
 */
export async function storeAnnouncement(
  tx: Transaction,
  announcement: Announcement,
): Promise<void> {
  await appendEvent(tx, announcement);
}
