import type { AuditOutcome, AuditRecord } from '#contracts/audit';

/**
 * What the records of one call say became of it. Records reach the log in any order, and others
 * than the one who made the call may have given up on it: the maker's word counts first.
 */
export function stateOf(
  records: readonly Pick<AuditRecord, 'type' | 'outcome'>[],
): AuditOutcome | null {
  const ended = records.filter(({ outcome }) => outcome !== null && outcome !== 'started');
  const ownWord = ended.find(({ type }) => type === 'action.outcome');
  return (ownWord ?? ended[0] ?? records.find(({ outcome }) => outcome !== null))?.outcome ?? null;
}
