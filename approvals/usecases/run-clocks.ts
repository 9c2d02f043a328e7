import type { DepsWithReplays } from '../deps.ts';
import { findDue } from '../repository/due.ts';
import { bubbleOverdue, expireApprovals, expireExecutions } from '../transitions/approval.ts';

const batchMax = 100;

/**
 * One turn of every clock but the chain checks: expiries, moves up, and replays left by others.
 * Any number of replicas may do this at once; each row is locked by one and skipped by the rest.
 */
export async function runClocks({
  db,
  replays,
}: DepsWithReplays): Promise<{ chainChecks: boolean }> {
  const due = await findDue(db);
  if (due.replays) replays.wake();
  if (due.approvalExpiries) {
    await untilFew(() =>
      db.transaction((tx) => expireApprovals(tx, { requester: null, limit: batchMax })),
    );
  }
  if (due.executionExpiries) {
    await untilFew(() => db.transaction((tx) => expireExecutions(tx, batchMax)));
  }
  if (due.bubbles) await untilFew(() => bubbleOverdue(db, batchMax));
  return { chainChecks: due.chainChecks };
}

/** Works off a backlog batch by batch, and leaves the rest of an endless one to the next turn. */
async function untilFew(batch: () => Promise<number>): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) {
    if ((await batch()) < batchMax) return;
  }
}
