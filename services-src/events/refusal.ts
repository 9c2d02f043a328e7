import { v5 as uuidv5 } from 'uuid';

import { blankAuditEntry } from '../contracts/audit.ts';
import type { Event } from '../contracts/events.ts';

const namespace = '6a1f8a52-93d4-4c0e-9f0b-2d7a54c1be11';

/**
 * What the audit log keeps of an event that came under a subject which does not carry its type: that
 * it was tried, where, and nothing of what it claimed. Its id is made from the event's, so that
 * it is recorded once, and never in the place of an honest event whose id a forger used.
 */
export function refusalOf(subject: string, event: Event): Event {
  return {
    id: uuidv5(`${subject} ${event.id}`, namespace),
    type: 'event.refused',
    created_at: new Date().toISOString(),
    org_id: event.org_id,
    audience: [],
    data: {},
    audit: blankAuditEntry(`${event.type} was announced as ${subject} and was not believed.`),
  };
}
