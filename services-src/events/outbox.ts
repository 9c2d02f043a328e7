import { randomUUIDv7 } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { AppError } from '#errors';
import { isForAuditAlone } from '../contracts/events.ts';
import type { Event, EventType } from '../contracts/events.ts';
import type { AuditEntry } from '../contracts/audit.ts';
import { readTolerantly } from '../contracts/tolerant.ts';
import { inActiveTrace } from './event-spans.ts';
import { compiledEvent } from './read-message.ts';

export interface NewEvent {
  /**
   * Set when another process may report the same event; the audit log then keeps only one of the
   * two.
   */
  readonly id?: string;
  readonly type: EventType;
  readonly orgId: string;
  /** The ids of the chain of identities that the event concerns, from the user down. */
  readonly audience: readonly string[];
  readonly data: Event['data'];
  readonly audit: AuditEntry | null;
}

/** Longer descriptions are cut: a long description must not prevent the record. */
const descriptionCharactersMax = 2_000;

export function createEvent({
  id = randomUUIDv7(),
  type,
  orgId,
  audience,
  data,
  audit,
}: NewEvent): Event {
  return {
    id,
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

/** NATS accepts messages of up to 4 MiB, headers included. */
const eventBytesMax = 4 * 1024 * 1024 - 4096;

/** The row that stores an event in a component's outbox. */
export interface EventRow {
  readonly id: string;
  readonly orgId: string;
  readonly type: EventType;
  /** The event as JSON. */
  readonly body: string;
  /** False for events that only audit reads, which the relay collects for a moment. */
  readonly isUrgent: boolean;
}

/**
 * Stores an event in the component's outbox, in the transaction of the change that it reports. When
 * its readers or the stream would refuse the event, the transaction fails, because a change that
 * cannot be recorded must not happen. (A row that cannot be published would also block all rows
 * after it in the outbox.)
 */
export async function appendEvent(tx: Transaction, newEvent: NewEvent): Promise<Event> {
  const { event, row } = prepareEvent(newEvent);
  await tx`
    insert into outbox (id, org_id, type, body)
    values (${row.id}, ${row.orgId}, ${row.type}, ${row.body})
  `;
  tx.markEvents(row);
  return event;
}

/**
 * Makes the row of an event, for a statement that stores it together with the change that it
 * reports. Throws for an event that its readers or the stream would refuse.
 */
export function prepareEvent(newEvent: NewEvent): {
  readonly event: Event;
  readonly row: EventRow;
} {
  // The relay publishes in the order of ids, so ids of the same millisecond must increase too.
  const rowId = uuidv7();
  const createdEvent = inActiveTrace(createEvent({ ...newEvent, id: newEvent.id ?? rowId }));
  // The audit entry may have been stored by a replica of a later release and be published by this
  // one, so it may have members and values that this release does not know.
  const readResult = readTolerantly(compiledEvent, createdEvent, 'pass');
  if (!readResult.success) throw readResult.error;
  const event = readResult.data;
  const body = JSON.stringify(event);
  if (Buffer.byteLength(body) > eventBytesMax) {
    throw new AppError(
      'too_large',
      'What is to be recorded of this is too large; send less in it.',
    );
  }
  const { org_id: orgId, type } = event;
  return { event, row: { id: rowId, orgId, type, body, isUrgent: !isForAuditAlone(type) } };
}
