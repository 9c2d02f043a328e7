import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { eventTypes } from '../contracts/events.ts';
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

export function createEvent({ type, orgId, audience, data, audit }: NewEvent): Event {
  return {
    id: uuidv7(),
    type,
    created_at: new Date().toISOString(),
    org_id: orgId,
    audience: [...audience],
    data,
    audit,
  };
}

/** Stores an event in the component's outbox, in the transaction of the change it reports. */
export async function appendEvent(tx: Transaction, newEvent: NewEvent): Promise<Event> {
  const event = createEvent(newEvent);
  if (!Object.hasOwn(eventTypes, event.type)) throw new Error(`unknown event type ${event.type}`);
  await tx`
    insert into outbox (id, org_id, type, body)
    values (${event.id}, ${event.org_id}, ${event.type}, ${JSON.stringify(event)})
  `;
  tx.markEvents();
  return event;
}
