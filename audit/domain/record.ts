import { v5 as uuidv5 } from 'uuid';

import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { Event } from '#contracts/events';
import type { UnchainedRecord } from './chain.ts';

/** The record that an event asks for; undefined when it asks for none. */
export function recordOf(event: Event): UnchainedRecord | undefined {
  if (event.audit === null) return undefined;
  const entry = isStorable(event.audit) ? event.audit : storable(event.audit);
  return {
    ...entry,
    id: event.id.toLowerCase(),
    org_id: event.org_id.toLowerCase(),
    type: event.type,
    at: new Date(event.created_at).toISOString(),
    user_id: entry.user_id?.toLowerCase() ?? null,
    approval_id: entry.approval_id?.toLowerCase() ?? null,
    execution_id: entry.execution_id?.toLowerCase() ?? null,
    call_id: entry.call_id?.toLowerCase() ?? null,
  };
}

const reusedIds = 'f0c3b7a4-52f1-4a8e-9d0b-6c1e8a7d2b95';

/**
 * What is recorded of an event that came under the id of one of another org: that it was announced,
 * and nothing of what it claimed. Its own id is the same however often it is delivered.
 */
export function refusalOfReusedId({ id, org_id, type, at }: UnchainedRecord): UnchainedRecord {
  return {
    ...blankAuditEntry(`${type} was announced under the id of another event and was not believed.`),
    id: uuidv5(`${org_id} ${id}`, reusedIds),
    org_id,
    type: 'event.refused',
    at,
  };
}

/** JSON writes both as escapes, so that looking at its text is enough. */
function isStorable(entry: AuditEntry): boolean {
  return !/\\u(?:0000|d[89a-f])/.test(JSON.stringify(entry));
}

/**
 * What Postgres gives back exactly as it got it. Text there has no NUL and no lone surrogate;
 * a caller that sends one must neither stop the log nor make its hash wrong.
 */
function storable<T>(value: T): T {
  if (typeof value === 'string') {
    return value.toWellFormed().replaceAll('\0', '\u{FFFD}') as T;
  }
  if (Array.isArray(value)) return value.map(storable) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, storable(member)]),
  ) as T;
}
