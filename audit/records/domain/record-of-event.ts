import { v5 as uuidv5 } from 'uuid';

import { blankAuditEntry } from '#contracts/audit';
import type { AuditEntry } from '#contracts/audit';
import type { ReceivedEvent } from '#contracts/events';
import type { UnchainedRecord } from './chain.ts';

/** Builds the audit record of an event. Returns undefined for an event without an audit entry. */
export function auditRecordOf(event: ReceivedEvent): UnchainedRecord | undefined {
  if (event.audit === null) return undefined;
  const auditEntry = isStorable(event.audit) ? event.audit : withStorableText(event.audit);
  return {
    ...auditEntry,
    id: event.id.toLowerCase(),
    org_id: event.org_id.toLowerCase(),
    type: event.type,
    at: new Date(event.created_at).toISOString(),
    user_id: auditEntry.user_id?.toLowerCase() ?? null,
    approval_id: auditEntry.approval_id?.toLowerCase() ?? null,
    execution_id: auditEntry.execution_id?.toLowerCase() ?? null,
    call_id: auditEntry.call_id?.toLowerCase() ?? null,
    unread: event.unread ?? null,
  };
}

const refusalIdNamespace = 'f0c3b7a4-52f1-4a8e-9d0b-6c1e8a7d2b95';

/**
 * Builds the record of an event that was refused because its id belongs to an event of another org.
 * It says that the event was announced and copies none of its claims. Its id is derived, so every
 * delivery of the event gives the same record.
 */
export function refusalRecordOfReusedId({
  id,
  org_id,
  type,
  at,
}: UnchainedRecord): UnchainedRecord {
  return {
    ...blankAuditEntry(`${type} was announced under the id of another event and was not believed.`),
    id: uuidv5(`${org_id} ${id}`, refusalIdNamespace),
    org_id,
    type: 'event.refused',
    at,
    unread: null,
  };
}

/** JSON.stringify escapes NUL and lone surrogates, so searching the JSON text finds both. */
function isStorable(auditEntry: AuditEntry): boolean {
  return !/\\u(?:0000|d[89a-f])/.test(JSON.stringify(auditEntry));
}

/**
 * Replaces NUL and lone surrogates, which Postgres text cannot store. Otherwise a caller that sends
 * one could stop the audit log, or make the stored text differ from the hashed text.
 */
function withStorableText<T>(value: T): T {
  if (typeof value === 'string') {
    return value.toWellFormed().replaceAll('\0', '\u{FFFD}') as T;
  }
  if (Array.isArray(value)) return value.map(withStorableText) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withStorableText(member)]),
  ) as T;
}
