import type { Deadline } from '#bus';
import { auditRecord } from '#contracts/audit';
import type { AuditVerification } from '#contracts/http/audit';
import type { Sql } from '#database';
import { AppError, unreadable } from '#errors';
import type { Deps } from '../deps.ts';
import { readsWholeOrg } from './domain/access.ts';
import { chainStart, checkChain } from './domain/chain.ts';
import type { ChainHead } from './domain/chain.ts';
import { findChainHead, listChainPart, listFilledColumns } from './record.sql.ts';

const recordsPerPart = 1_000;

/**
 * Recomputes the hash chain of the caller's org in bounded parts, up to the record that was the
 * newest when the check began. Returns the first record that does not fit.
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
  const endHead = await findChainHead(db, { orgId });
  const head = endHead.seq === 0 ? null : endHead;

  let lastHead: ChainHead = chainStart;
  let rowsChecked = 0;
  while (lastHead.seq < endHead.seq) {
    if (deadline.remainingMs() === 0) throw verificationTimeoutError(rowsChecked);
    const part = await listChainPart(db, {
      orgId,
      afterSeq: lastHead.seq,
      upToSeq: endHead.seq,
      limit: recordsPerPart,
    });
    const checkedPart = checkChain(lastHead, part);
    if ('firstBadSeq' in checkedPart) {
      await requireKnownColumns(db, { orgId, seq: checkedPart.firstBadSeq });
      const { firstBadSeq } = checkedPart;
      rowsChecked += part.filter((record) => record.seq <= firstBadSeq).length;
      return { valid: false, rows_checked: rowsChecked, first_bad_seq: firstBadSeq, head };
    }
    // The record that was the newest at the beginning no longer exists: it was deleted during the
    // check.
    if (part.length === 0) {
      return { valid: false, rows_checked: rowsChecked, first_bad_seq: lastHead.seq + 1, head };
    }
    rowsChecked += part.length;
    lastHead = checkedPart.head;
  }
  return { valid: true, rows_checked: rowsChecked, first_bad_seq: null, head };
}

/**
 * A record of a later release may have members that this release does not know and cannot include
 * in the hash. Such a record is not called wrong; a replica of that release must check it.
 */
async function requireKnownColumns(db: Sql, record: { orgId: string; seq: number }): Promise<void> {
  const knownFields = new Set<string>(auditRecord.keyof().options);
  const filledColumns = await listFilledColumns(db, record);
  if (filledColumns.every((name) => knownFields.has(name))) return;
  throw unreadable('audit log', undefined);
}

function verificationTimeoutError(rowsChecked: number): AppError {
  return new AppError(
    'unavailable',
    `The log is too long to verify in one request (${rowsChecked} records were in order); verify a copy of the table instead.`,
  );
}
