import type { DepsWithReplays } from '../deps.ts';
import { bubbleOverdue, expireApprovals, expireExecutions } from '../moves/approval-moves.ts';
import { findDueWork } from './due.sql.ts';

const rowsPerBatchMax = 100;

/**
 * Applies every time limit once, except the chain checks: expires approvals, hands them up, and
 * takes over replays whose process stopped. Returns what else is due. Any number of replicas may
 * run this at once: one of them locks each row, and the others skip it.
 */
export async function runClocks({
  db,
  replays,
}: DepsWithReplays): Promise<{ chainChecks: boolean; searchTexts: boolean }> {
  const dueWork = await findDueWork(db);
  if (dueWork.replays) replays.wake();
  if (dueWork.approvalExpiries) {
    await drainInBatches(() =>
      db.transaction((tx) => expireApprovals(tx, { requester: null, limit: rowsPerBatchMax })),
    );
  }
  if (dueWork.executionExpiries) {
    await drainInBatches(() => db.transaction((tx) => expireExecutions(tx, rowsPerBatchMax)));
  }
  if (dueWork.bubbles) await drainInBatches(() => bubbleOverdue(db, rowsPerBatchMax));
  return { chainChecks: dueWork.chainChecks, searchTexts: dueWork.searchTexts };
}

/** Processes a backlog in batches. What is left after 50 batches is processed in the next run. */
async function drainInBatches(batch: () => Promise<number>): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    if ((await batch()) < rowsPerBatchMax) return;
  }
}
