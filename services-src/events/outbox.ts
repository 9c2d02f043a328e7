import { randomUUIDv7 } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { event as eventSchema, isForAuditAlone } from '../contracts/events.ts';
import type { Event, EventType } from '../contracts/events.ts';
import type { AuditEntry } from '../contracts/audit.ts';

export interface NewEvent {
  readonly type: EventType;
  readonly orgId: string;
  /** Ids of the chain it concerns, the user first. */
  readonly audience: readonly string[];
  readonly data: Event['data'];
  readonly audit: AuditEntry | null;
}

/** Longer sentences are cut: a record must not be refused for the length of its description. */
const descriptionCharactersMax = 2_000;

export function createEvent({ type, orgId, audience, data, audit }: NewEvent): Event {
  return {
    id: randomUUIDv7(),
    type,
    created_at: new Date().toISOString(),
    org_id: orgId,
    audience: [...audience],
    data,
    audit: audit && {
      ...audit,
      description: audit.description.slice(0, descriptionCharactersMax),
    },
  };
}

/**
 * Stores an event in the component's outbox, in the transaction of the change it reports. One
 * that its readers would refuse takes the change back with it: no audit, no action.
 */
export async function appendEvent(tx: Transaction, newEvent: NewEvent): Promise<Event> {
  // The relay goes by the order of ids, so those of one millisecond have to rise too.
  const event = eventSchema.parse({ ...createEvent(newEvent), id: uuidv7() });
  await tx`
    insert into outbox (id, org_id, type, body)
    values (${event.id}, ${event.org_id}, ${event.type}, ${JSON.stringify(event)})
  `;
  tx.markEvents({ isUrgent: !isForAuditAlone(event.type) });
  return event;
}
