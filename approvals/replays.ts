import { AppError } from '#errors';
import { repeat } from '#process';
import type { Deps } from './deps.ts';
import type { Actor } from './domain/announce.ts';
import type { Trigger } from './domain/approval.ts';
import { errorOf } from './domain/outcome.ts';
import type { Outcome } from './domain/outcome.ts';
import { renewLeases, takeOverExecutions } from './repository/execution.ts';
import type { Claim } from './repository/execution.ts';
import { startExecution, startPendingExecutions } from './transitions/execution.ts';
import { replayExecution } from './usecases/replay-execution.ts';

export interface Replays extends AsyncDisposable {
  /** Looks for work now: an approval was just allowed here, or a clock says that something is due. */
  wake(): void;
  /** Runs an allowed call for somebody who waits; undefined when it has been started already, or is over. */
  run(request: {
    orgId: string;
    approvalId: string;
    trigger: Trigger;
    actor: Actor;
  }): Promise<Outcome | undefined>;
}

/** Replays in the background and for waiting callers; each has its own share, so that neither starves the other. */
const backgroundMax = 32;
const waitedForMax = 64;
const renewEveryMs = 5_000;
/** A replay may take two minutes; a stopping process waits this long, and another replica takes over the rest. */
const drainMs = 25_000;

/** Holds this replica's claims: starts replays, keeps their leases, and waits for them at the stop. */
export function createReplays(deps: Deps): Replays {
  const { db, logger } = deps;
  const held = createHeldClaims(deps);
  let waitedFor = 0;

  const claimMore = coalesce(async () => {
    try {
      for (const claimUpTo of [takeOverExecutions, startPendingExecutions]) {
        const free = backgroundMax - held.inBackground();
        if (free <= 0) return;
        const claims = await claimUpTo(db, free);
        for (const claim of claims) held.holdInBackground(claim, () => claimMore.run());
      }
    } catch (error) {
      logger.warn({ err: error }, 'replays could not be claimed yet');
    }
  });

  return {
    wake: () => claimMore.run(),
    async run({ actor, ...request }) {
      if (waitedFor >= waitedForMax) throw busy();
      waitedFor += 1;
      try {
        const claim = await startExecution(db, { ...request, actor });
        return claim && (await held.hold(claim, actor));
      } finally {
        waitedFor -= 1;
      }
    },
    async [Symbol.asyncDispose]() {
      await claimMore.stop();
      await held[Symbol.asyncDispose]();
    },
  };
}

/** The claims that are ours and whose replays are under way; their leases are renewed until they end. */
function createHeldClaims(deps: Deps) {
  const { db, logger } = deps;
  const inHand = new Map<Claim, Promise<Outcome>>();
  const background = new Set<Claim>();

  const renewing = repeat(renewEveryMs, async () => {
    try {
      if (inHand.size > 0) await renewLeases(db, [...inHand.keys()]);
    } catch (error) {
      logger.warn({ err: error }, 'leases could not be renewed yet');
    }
  });

  const hold = (claim: Claim, actor: Actor | null): Promise<Outcome> => {
    const replaying = replayExecution(deps, claim, actor)
      .catch((error: unknown) => {
        // Its lease passes, and somebody asks again with the same ids.
        logger.warn({ err: error, executionId: claim.executionId }, 'replay interrupted');
        return { kind: 'again' as const, error: errorOf(AppError.from(error)), uncertain: true };
      })
      .finally(() => inHand.delete(claim));
    inHand.set(claim, replaying);
    return replaying;
  };

  return {
    hold,
    inBackground: () => background.size,
    holdInBackground(claim: Claim, whenDone: () => void) {
      background.add(claim);
      void hold(claim, null).finally(() => {
        background.delete(claim);
        whenDone();
      });
    },
    async [Symbol.asyncDispose]() {
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise((resolve) => {
        timer = setTimeout(resolve, drainMs);
      });
      await Promise.race([Promise.allSettled(inHand.values()), patience]);
      clearTimeout(timer);
      await renewing[Symbol.asyncDispose]();
    },
  };
}

/** Runs a task one at a time; asked for meanwhile, however often, it runs once more after that. */
function coalesce(task: () => Promise<void>) {
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  const run = (): void => {
    again = true;
    if (stopped || running) return;
    running = (async () => {
      while (again && !stopped) {
        again = false;
        await task();
      }
      // No await between the last look at `again` and here, so nobody is missed.
      running = undefined;
    })();
  };
  return {
    run,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

function busy(): AppError {
  return new AppError('unavailable', 'Too many approved calls are running; try again shortly.', {
    details: { component: 'approvals', busy: true },
  });
}
