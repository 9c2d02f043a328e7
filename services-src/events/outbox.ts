import { randomUUIDv7 } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { AppError } from '#errors';
import { event as eventSchema, isForAuditAlone } from '../contracts/events.ts';
import type { Event, EventType } from '../contracts/events.ts';
import type { AuditEntry } from '../contracts/audit.ts';
import { readTolerantly } from '../contracts/tolerant.ts';

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

/**
 * Stores an event in the component's outbox, in the transaction of the change that it reports. When
 * its readers or the stream would refuse the event, the transaction fails, because a change that
 * cannot be recorded must not happen. (A row that cannot be published would also block all rows
 * after it in the outbox.)
 */
export async function appendEvent(tx: Transaction, newEvent: NewEvent): Promise<Event> {
  // The relay publishes in the order of ids, so ids of the same millisecond must increase too.
  const rowId = uuidv7();
  const createdEvent = createEvent({ ...newEvent, id: newEvent.id ?? rowId });
  // The audit entry may have been stored by a replica of a later release and be published by this
  // one, so it may have members and values that this release does not know.
  const readResult = readTolerantly(eventSchema, createdEvent, 'pass');
  if (!readResult.success) throw readResult.error;
  const event = readResult.data;
  const body = JSON.stringify(event);
  if (Buffer.byteLength(body) > eventBytesMax) {
    throw new AppError(
      'too_large',
      'What is to be recorded of this is too large; send less in it.',
    );
  }
  await tx`
    insert into outbox (id, org_id, type, body)
    values (${rowId}, ${event.org_id}, ${event.type}, ${body})
  `;
  tx.markEvents({ isUrgent: !isForAuditAlone(event.type) });
  return event;
}
