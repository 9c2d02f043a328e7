import type { AuditOutcome, AuditRecord } from '#contracts/audit';
import type { EventType } from '#contracts/events';

/** The types of the records of one call. Each belongs to a component that has to do with the call. */
const callRecordTypes: readonly string[] = [
  'action.intent',
  'action.outcome',
  'action.unanswered',
  'execution.finished',
] satisfies EventType[];

/**
 * Derives the state of a call from its records. Records can arrive in any order, and another
 * component may have recorded that it gave up on the call. The outcome recorded by the component
 * that made the call (`action.outcome`) takes precedence. A record of another type, which any
 * component could make up, says nothing about a call that has records of its own.
 */
export function callStateOf(
  records: readonly Pick<AuditRecord, 'type' | 'outcome'>[],
): AuditOutcome | null {
  const callRecords = records.filter(({ type }) => callRecordTypes.includes(type));
  const relevantRecords = callRecords.length > 0 ? callRecords : records;
  const endRecords = relevantRecords.filter(
    ({ outcome }) => outcome !== null && outcome !== 'started',
  );
  const outcomeRecord = endRecords.find(({ type }) => type === 'action.outcome');
  return (
    (outcomeRecord ?? endRecords[0] ?? relevantRecords.find(({ outcome }) => outcome !== null))
      ?.outcome ?? null
  );
}
