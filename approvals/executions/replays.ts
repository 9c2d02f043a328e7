import { AppError } from '#errors';
import { repeat } from '#process';
import type { Actor } from '../approval/domain/announcements.ts';
import type { Deps, Replays } from '../deps.ts';
import type { ApprovalKey } from '../approval/approval.sql.ts';
import { executionErrorOf } from './domain/outcome.ts';
import type { Outcome } from './domain/outcome.ts';
import { startExecution, startPendingExecutions } from './execution-moves.ts';
import { renewLeases, takeOverExecutions } from './execution.sql.ts';
import type { Claim } from './execution.sql.ts';
import { replayExecution } from './replay-execution.ts';

/**
 * Automatic replays and replays with a waiting caller have separate limits, so that neither kind
 * can use up all the capacity.
 */
const backgroundReplaysMax = 32;
const waitedForReplaysMax = 64;
const leaseRenewalEveryMs = 5_000;
/**
 * How long a stopping process waits for its running replays. A replay may take two minutes; another
 * replica takes over those that have not ended.
 */
const drainTimeoutMs = 25_000;

/**
 * Starts replays and renews the leases of the executions that this replica has claimed. Disposing
 * it waits for the running replays.
 */
export function createReplays(deps: Deps): Replays {
  const { db, logger } = deps;
  const heldClaims = createHeldClaims(deps);
  let waitedForCount = 0;

  const claimMore = createCoalescedTask(async () => {
    try {
      for (const claimUpTo of [takeOverExecutions, startPendingExecutions]) {
        const freeSlots = backgroundReplaysMax - heldClaims.inBackground();
        if (freeSlots <= 0) return;
        const claims = await claimUpTo(db, freeSlots);
        for (const claim of claims) heldClaims.holdInBackground(claim, () => claimMore.run());
      }
    } catch (error) {
      logger.warn({ err: error }, 'replays could not be claimed yet');
    }
  });

  return {
    wake: () => claimMore.run(),
    async run({ actor, ...request }) {
      if (waitedForCount >= waitedForReplaysMax) throw busyError();
      waitedForCount += 1;
      try {
        const claim = await startExecution(db, { ...request, actor });
        return claim && (await heldClaims.hold(claim, actor));
      } finally {
        waitedForCount -= 1;
      }
    },
    findRunning: (key) => heldClaims.find(key),
    async [Symbol.asyncDispose]() {
      await claimMore.stop();
      await heldClaims[Symbol.asyncDispose]();
    },
  };
}

/**
 * The executions that this replica has claimed and is replaying. Their leases are renewed until the
 * replays end.
 */
function createHeldClaims(deps: Deps) {
  const { db, logger } = deps;
  const running = new Map<Claim, Promise<Outcome>>();
  const backgroundClaims = new Set<Claim>();

  const leaseRenewal = repeat(leaseRenewalEveryMs, async () => {
    try {
      if (running.size > 0) await renewLeases(db, [...running.keys()]);
    } catch (error) {
      logger.warn({ err: error }, 'leases could not be renewed yet');
    }
  });

  const holdClaim = (claim: Claim, actor: Actor | null): Promise<Outcome> => {
    const replaying = replayExecution(deps, claim, actor)
      .catch((error: unknown) => {
        // The lease of this execution ends by itself, and another attempt is made with the same
        // ids.
        logger.warn({ err: error, executionId: claim.executionId }, 'replay interrupted');
        return {
          kind: 'again' as const,
          error: executionErrorOf(AppError.from(error)),
          uncertain: true,
        };
      })
      .finally(() => running.delete(claim));
    running.set(claim, replaying);
    return replaying;
  };

  return {
    hold: holdClaim,
    /** Looks through at most as many claims as the limits above let run. */
    find({ orgId, approvalId }: ApprovalKey) {
      for (const [claim, replaying] of running) {
        if (claim.approvalId === approvalId && claim.orgId === orgId) return replaying;
      }
      return undefined;
    },
    inBackground: () => backgroundClaims.size,
    holdInBackground(claim: Claim, whenDone: () => void) {
      backgroundClaims.add(claim);
      void holdClaim(claim, null).finally(() => {
        backgroundClaims.delete(claim);
        whenDone();
      });
    },
    async [Symbol.asyncDispose]() {
      let timer: NodeJS.Timeout | undefined;
      const timeLimit = new Promise((resolve) => {
        timer = setTimeout(resolve, drainTimeoutMs);
      });
      await Promise.race([Promise.allSettled(running.values()), timeLimit]);
      clearTimeout(timer);
      await leaseRenewal[Symbol.asyncDispose]();
    },
  };
}

/**
 * Runs a task, one run at a time. All requests that come during a run lead to one more run after
 * it.
 */
function createCoalescedTask(task: () => Promise<void>) {
  let running: Promise<void> | undefined;
  let isRerunNeeded = false;
  let isStopped = false;

  const run = (): void => {
    isRerunNeeded = true;
    if (isStopped || running) return;
    running = (async () => {
      while (isRerunNeeded && !isStopped) {
        isRerunNeeded = false;
        await task();
      }
      // There is no await between the last check of `again` and this line, so no request is missed.
      running = undefined;
    })();
  };
  return {
    run,
    async stop() {
      isStopped = true;
      await running;
    },
  };
}

function busyError(): AppError {
  return new AppError('unavailable', 'Too many approved calls are running; try again shortly.', {
    details: { component: 'approvals', busy: true },
  });
}
