import { createHash } from 'node:crypto';

import { v5 as uuidv5 } from 'uuid';
import { z } from 'zod';

import {
  isAllowedSubject,
  event as eventSchema,
  eventType,
  mayBeOfLaterRelease,
} from '../contracts/events.ts';
import type { Event, ReceivedEvent, UnreadableEvent } from '../contracts/events.ts';
import { readTolerantly } from '../contracts/tolerant.ts';
import { id as idSchema } from '../contracts/vocabulary.ts';
import { refusalRecordOf, toShownSubject } from './refusal.ts';

export interface ReadMessage {
  readonly events: readonly ReceivedEvent[];
  /** Events of a type that this release does not know. Their type is no `EventType`. */
  readonly ofUnknownType: readonly ReceivedEvent[];
  /** Events whose type does not belong to the subject. */
  readonly refused: readonly Event[];
  readonly unreadable: readonly UnreadableEvent[];
}

/** More events than any publisher puts into one message. */
const messageEventsMax = 256;
const unreadCharactersMax = 16_384;
/** The schema of an event, compiled because every call makes and reads several. */
export const compiledEvent = z.compile(eventSchema);
const uuidNamespace = '3e7c4f52-8d1b-4b7e-9a55-0f6f2c1d9a10';
/** The form of every event type; longer ones do not fit into an audit record. */
const typePattern = /^[a-z_]+(?:\.[a-z_]+)+$/;
const typeCharactersMax = 60;

/**
 * Reads a message, which holds one event or an array of events. An unreadable event in an array
 * does not prevent the others from being read.
 */
export function readMessage(subject: string, body: Uint8Array): ReadMessage {
  const read = {
    events: [] as ReceivedEvent[],
    ofUnknownType: [] as ReceivedEvent[],
    refused: [] as Event[],
    unreadable: [] as UnreadableEvent[],
  };
  for (const { item, keep } of partsOf(subject, body)) {
    const event = readEvent(item);
    if (event === undefined) {
      read.unreadable.push(keep());
    } else if (!eventType.safeParse(event.type).success) {
      if (mayBeOfLaterRelease(subject, event.type)) read.ofUnknownType.push(event);
      else read.refused.push(event);
    } else if (isAllowedSubject(subject, event.type)) read.events.push(event);
    else read.refused.push(event);
  }
  return read;
}

/**
 * Splits a message into its events, each with its body as it came, so that an event that cannot be
 * stored as an event can be stored as unreadable.
 */
export function splitMessage(subject: string, body: Uint8Array): UnreadableEvent[] {
  return partsOf(subject, body).map(({ keep }) => keep());
}

/** The audit log's records of the refused events. */
export function refusalsOf(subject: string, refused: readonly Event[]): Event[] {
  return refused.map((event) => refusalRecordOf(subject, event));
}

function partsOf(subject: string, body: Uint8Array) {
  const items = parseItems(body);
  if (items === undefined)
    return [{ item: undefined, keep: () => unreadableEventOf(subject, body) }];
  return items.map((item) => {
    const bodyOfItem = () => (items.length === 1 ? body : (bytesOf(item) ?? body));
    return { item, keep: () => unreadableEventOf(subject, bodyOfItem(), item) };
  });
}

function parseItems(body: Uint8Array): unknown[] | undefined {
  try {
    const items = [JSON.parse(Buffer.from(body).toString('utf8'))].flat();
    return items.length > 0 && items.length <= messageEventsMax ? items : undefined;
  } catch {
    return undefined; // It is kept as it came.
  }
}

/**
 * The JSON of an item. Undefined when the item is nested too deeply to be written, although it
 * could be read.
 */
function bytesOf(item: unknown): Buffer | undefined {
  try {
    return Buffer.from(JSON.stringify(item));
  } catch {
    return undefined; // The whole message is kept instead.
  }
}

/**
 * Undefined when the event cannot be read, is nested too deeply, or has more unknown members than a
 * record can keep.
 */
function readEvent(item: unknown): ReceivedEvent | undefined {
  try {
    return readShallowEvent(item);
  } catch (error) {
    if (error instanceof RangeError) return undefined; // The stack is full.
    throw error;
  }
}

function readShallowEvent(item: unknown): ReceivedEvent | undefined {
  const readResult = readTolerantly(compiledEvent, item, 'pass');
  if (!readResult.success) return undefined;
  const { data } = readResult;
  if (!typePattern.test(data.type) || data.type.length > typeCharactersMax) return undefined;
  if (!readResult.isOfOtherRelease) return data;
  const droppedMembers = Object.fromEntries(listDroppedMembers(item, data));
  if (Object.keys(droppedMembers).length === 0) return data;
  const unread = JSON.stringify(droppedMembers);
  return unread.length > unreadCharactersMax ? undefined : { ...data, unread };
}

/** The members of `sent` that are missing in `read`, each with its path. */
function listDroppedMembers(
  sent: unknown,
  read: unknown,
  path = '',
): [path: string, value: unknown][] {
  if (typeof sent !== 'object' || sent === null) return [];
  if (typeof read !== 'object' || read === null) return [];
  return Object.entries(sent).flatMap(([name, value]) => {
    const at = path === '' ? name : `${path}.${name}`;
    if (!Object.hasOwn(read, name)) return [[at, value]];
    return listDroppedMembers(value, (read as Record<string, unknown>)[name], at);
  });
}

function unreadableEventOf(subject: string, body: Uint8Array, item?: unknown): UnreadableEvent {
  // The id depends on the owner of the subject, so that no component can make another's record look
  // like one that is kept already. It does not depend on the rest of the subject, because an event
  // may arrive once in a batch and once more by itself.
  const [, owner = ''] = subject.split('.');
  const digest = createHash('sha256').update(owner).update('\0').update(body).digest('hex');
  const claimedOrgId = (item as { org_id?: unknown } | null | undefined)?.org_id;
  const orgId = idSchema.safeParse(claimedOrgId);
  return {
    id: uuidv5(digest, uuidNamespace),
    orgId: orgId.success ? orgId.data.toLowerCase() : null,
    subject: toShownSubject(subject),
    body,
  };
}
