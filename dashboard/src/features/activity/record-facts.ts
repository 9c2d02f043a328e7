import type { AuditRecord, Decision } from '#contracts/audit';
import { formatDuration } from '../../ui/time-text.ts';

export interface Fact {
  readonly label: string;
  readonly value: string;
  /** Whether the value is a name or an id for programs, and not a text. */
  readonly isCode: boolean;
}

const allowedByWords: Record<Decision['by'], string> = {
  rule: 'a permission',
  read: 'reads of this service run at once',
  user: 'the person who called',
  approval: 'a person, for this one call',
  platform: 'needs no permission',
};

/**
 * Everything that a record contains except its description, in the order in which the page shows
 * it.
 */
export function factsOf(record: AuditRecord): Fact[] {
  const { identity, decision, credential, request } = record;
  const words = (label: string, value: string | null) => ({ label, value, isCode: false });
  const code = (label: string, value: string | number | null) => ({
    label,
    value: value === null ? null : String(value),
    isCode: true,
  });
  const facts = [
    words('Who', identity?.path.join(' › ') ?? null),
    ...record.disclosed.map(({ label, value, truncated, error }) =>
      words(label, error ?? `${value}${truncated ? '… (cut)' : ''}`),
    ),
    words('Allowed by', decision && allowedByWords[decision.by]),
    ...(decision?.allowed_by ?? []).map(({ pattern }) => code('Permission', pattern)),
    code('Error', record.error),
    code('Failed there', record.failure),
    code('HTTP status', record.http_status),
    words('Took', record.duration_ms === null ? null : formatDuration(record.duration_ms)),
    words('How often', record.count === null ? null : `${record.count} times`),
    code('Service', record.service),
    code('Action', record.action),
    code('Risk', record.risk),
    ...record.permission_keys.map((key) => code('Permission key', key)),
    ...Object.entries(request?.headers ?? {}).map(([name, value]) =>
      code('Header', `${name}: ${value}`),
    ),
    code('Content type', request?.content_type ?? null),
    ...(request?.credentials ?? []).map(({ name, account, key }) =>
      code('Credential', `${name}${account === undefined ? '' : ` (${account})`} as ${key}`),
    ),
    code(
      'Signed in by',
      credential && `${credential.kind} ${credential.client_id ?? credential.id}`,
    ),
    code('From', record.ip),
    code('Request digest', record.request_digest),
    code('Approval', record.approval_id),
    code('Call', record.call_id),
    code('Request id', record.request_id),
    code('Trace', record.trace_id),
    code('Not understood', record.unread),
    code('Type', record.type),
    code('Number in the log', record.seq),
    code('Hash', record.hash),
  ];
  return facts.filter((fact): fact is Fact => fact.value !== null && fact.value !== '');
}

/** The facts of each record, without those that an earlier record already has. */
export function newFactsOf(records: readonly AuditRecord[]): Fact[][] {
  const seenFacts = new Set<string>();
  return records.map((record) =>
    factsOf(record).filter(({ label, value }) => {
      const fact = `${label}\0${value}`;
      const isNew = !seenFacts.has(fact);
      seenFacts.add(fact);
      return isNew;
    }),
  );
}
