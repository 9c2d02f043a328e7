import type { UnreadableEvent } from '#contracts/events';
import type { Deps } from '../deps.ts';
import { appendRecords } from '../records/record-events.ts';
import { recordOfUnreadable } from './domain/record-of-unreadable.ts';
import { insertUnreadable } from './unreadable.sql.ts';

/**
 * Stores unreadable records unchanged, because a later release may be able to read them, and adds
 * an entry about each to the chain of its org. A record that is delivered twice is stored once.
 */
export async function keepUnreadable(
  deps: Pick<Deps, 'db' | 'logger'>,
  events: readonly UnreadableEvent[],
): Promise<void> {
  for (const event of events) {
    const { id, orgId, subject, body } = event;
    deps.logger.error(
      { id, orgId, subject, bytes: body.length },
      'record cannot be read; kept raw',
    );
    await insertUnreadable(deps.db, event);
  }
  const now = new Date();
  const records = events
    .map((event) => recordOfUnreadable(event, now))
    .filter((record) => record !== null);
  await appendRecords(deps, records);
}
