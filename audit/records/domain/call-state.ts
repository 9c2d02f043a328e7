import type { AuditOutcome, AuditRecord } from '#contracts/audit';
import type { EventType } from '#contracts/events';

/**
 * The types of the records of one call. Each is recorded by a component that takes part in the
 * call.
 */
const callRecordTypes: readonly string[] = [
  'action.intent',
  'action.outcome',
  'action.unanswered',
  'execution.finished',
] satisfies EventType[];

/**
 * Derives the state of a call from its records. Records can arrive in any order, and another
 * component may have recorded that it gave up on the call. The outcome from the component that made
 * the call (`action.outcome`) takes precedence. Records of other types are ignored: any component
 * could make them up.
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
