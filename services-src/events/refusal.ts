import { v5 as uuidv5 } from 'uuid';

import { blankAuditEntry } from '../contracts/audit.ts';
import type { Event } from '../contracts/events.ts';

const uuidNamespace = '6a1f8a52-93d4-4c0e-9f0b-2d7a54c1be11';

/**
 * Longer than the subject of any genuine event. A forger may choose a subject as long as NATS
 * allows.
 */
const subjectCharactersMax = 200;

/**
 * A subject in the form for audit records: short enough for a description, and text that Postgres
 * can store.
 */
export function toShownSubject(subject: string): string {
  return subject.slice(0, subjectCharactersMax).toWellFormed().replaceAll('\0', '\u{FFFD}');
}

/**
 * Makes the audit log's record of an event that came under a subject to which its type does not
 * belong. The record names the subject and the event's type and org, and repeats none of the
 * event's other content. The record's id derives from the event's id, so the refusal is recorded
 * once, and never replaces a genuine event whose id a forger used.
 */
export function refusalRecordOf(subject: string, event: Event): Event {
  return {
    id: uuidv5(`${subject} ${event.id}`, uuidNamespace),
    type: 'event.refused',
    created_at: new Date().toISOString(),
    org_id: event.org_id,
    audience: [],
    data: {},
    audit: blankAuditEntry(
      `${event.type} was announced as ${toShownSubject(subject)} and was not believed.`,
    ),
  };
}
