import { randomUUIDv7 } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';

import type { Transaction } from '#database';
import { AppError } from '#errors';
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

/** NATS takes messages of 4 MiB, headers included. */
const eventBytesMax = 4 * 1024 * 1024 - 4096;

/**
 * Stores an event in the component's outbox, in the transaction of the change it reports. One
 * that its readers or the stream would refuse takes the change back with it: no audit, no action. (A row
 * that cannot be published would keep all rows after it from the stream.)
 */
export async function appendEvent(tx: Transaction, newEvent: NewEvent): Promise<Event> {
  // The relay goes by the order of ids, so those of one millisecond have to rise too.
  const event = eventSchema.parse({ ...createEvent(newEvent), id: uuidv7() });
  const body = JSON.stringify(event);
  if (Buffer.byteLength(body) > eventBytesMax) {
    throw new AppError(
      'too_large',
      'What is to be recorded of this is too large; send less in it.',
    );
  }
  await tx`
    insert into outbox (id, org_id, type, body)
    values (${event.id}, ${event.org_id}, ${event.type}, ${body})
  `;
  tx.markEvents({ isUrgent: !isForAuditAlone(event.type) });
  return event;
}
