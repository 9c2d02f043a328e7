import type { Deadline } from '#bus';
import type { AuditVerification } from '#contracts/http/audit';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { readsWholeOrg } from '../domain/access.ts';
import { chainStart, checkChain } from '../domain/chain.ts';
import type { Head } from '../domain/chain.ts';
import { findHead, listChainPart } from '../repository/records.ts';

const partMax = 1_000;

/**
 * Recomputes the hash chain of the caller's org from its first record to what was the newest
 * when the check began, in bounded parts, and names the first record that does not fit.
 */
export async function verifyChain(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
  deadline: Deadline,
): Promise<AuditVerification> {
  const caller = readPrincipal(principal);
  if (!readsWholeOrg(caller)) {
    throw new AppError('forbidden', 'Only admins and auditors verify the audit log.');
  }
  const { orgId } = caller;
  const end = await findHead(db, { orgId });
  const head = end.seq === 0 ? null : end;

  let last: Head = chainStart;
  let rowsChecked = 0;
  while (last.seq < end.seq) {
    if (deadline.remainingMs() === 0) throw tookTooLong(rowsChecked);
    const part = await listChainPart(db, {
      orgId,
      afterSeq: last.seq,
      upToSeq: end.seq,
      limit: partMax,
    });
    const checked = checkChain(last, part);
    if ('firstBadSeq' in checked) {
      const { firstBadSeq } = checked;
      rowsChecked += part.filter((record) => record.seq <= firstBadSeq).length;
      return { valid: false, rows_checked: rowsChecked, first_bad_seq: firstBadSeq, head };
    }
    // What was the head when we began is gone: somebody deletes while we read.
    if (part.length === 0) {
      return { valid: false, rows_checked: rowsChecked, first_bad_seq: last.seq + 1, head };
    }
    rowsChecked += part.length;
    last = checked.head;
  }
  return { valid: true, rows_checked: rowsChecked, first_bad_seq: null, head };
}

function tookTooLong(rowsChecked: number): AppError {
  return new AppError(
    'unavailable',
    `The log is too long to verify in one request (${rowsChecked} records were in order); verify a copy of the table instead.`,
  );
}
