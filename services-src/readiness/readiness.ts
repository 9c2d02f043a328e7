import { repeat } from '../process/repeat.ts';
import { componentOf } from '../telemetry/logger.ts';
import type { Logger } from '../telemetry/logger.ts';
import { observe } from '../telemetry/metrics.ts';

export interface Check {
  /**
   * The name that the answer of `/health/ready` shows to people; it contains no addresses and no
   * secrets.
   */
  readonly name: string;
  /** Rejects when the check fails. It must end by itself, after a few seconds at most. */
  readonly run: () => Promise<void>;
  /**
   * True for a problem of this replica alone: while the check fails, the replica takes no requests,
   * and other replicas serve them. False for a problem that all replicas share: if they all stopped
   * taking requests, every request would fail instead of some.
   */
  readonly isOwn: boolean;
}

export interface Readiness {
  /** The names of the failing checks; empty when the component is ready. */
  failing(): readonly string[];
  /** Whether the component should take requests from the bus. */
  takesRequests(): boolean;
  /** Calls the listener whenever `takesRequests` has changed. */
  onChange(listener: () => void): Disposable;
  /** Runs the checks at once, because a request met an error that suggests a failure. */
  suspect(): void;
  /** Makes the component not ready for good, because it is about to stop. */
  leave(): void;
}

interface Options {
  readonly checks: readonly Check[];
  readonly logger: Logger;
  readonly checkEveryMs?: number;
}

/**
 * A check counts as failing after this many failures in a row, and as passing after one success.
 */
const failuresMax = 2;
/** After a first failure, the checks run again after this time. */
const againAfterMs = 200;
const stoppingCheck = 'stopping';

/**
 * Runs a component's checks every second, independently of requests, and tells whether all of them
 * pass. Resolves after the first round, in which a single failure counts.
 */
export async function watchReadiness({
  checks,
  logger,
  checkEveryMs = 1_000,
}: Options): Promise<Readiness & AsyncDisposable> {
  const failuresOf = new Map(checks.map((check) => [check, 0]));
  const listeners = new Set<() => void>();
  let failingChecks: readonly Check[] = [];
  let isLeaving = false;
  let againTimer: NodeJS.Timeout | undefined;
  let lastRanAt = -Infinity;

  const run = async (check: Check): Promise<void> => {
    try {
      await check.run();
      failuresOf.set(check, 0);
    } catch (error) {
      failuresOf.set(check, (failuresOf.get(check) ?? 0) + 1);
      logger.debug({ err: error, check: check.name }, 'a check failed');
    }
  };
  const takesRequests = () => failingChecks.every((check) => !check.isOwn);
  const judgeChecks = (failuresNeeded: number): void => {
    const tookRequestsBefore = takesRequests();
    failingChecks = checks.filter((check) => (failuresOf.get(check) ?? 0) >= failuresNeeded);
    if (takesRequests() !== tookRequestsBefore) for (const listener of listeners) listener();
  };
  const runAll = async () => {
    lastRanAt = performance.now();
    await Promise.all(checks.map(run));
  };

  await runAll();
  judgeChecks(1);
  // Logged as information only: while an installation starts, the servers that a component needs
  // may start after it.
  if (failingChecks.length > 0) logger.info({ failing: namesOf(failingChecks) }, 'not ready yet');
  // A check that failed at the start counts as failing until its first success.
  for (const check of failingChecks) failuresOf.set(check, failuresMax);

  const checkLoop = repeat(checkEveryMs, async () => {
    await runAll();
    const failingBefore = failingChecks;
    judgeChecks(failuresMax);
    logChange(logger, failingBefore, failingChecks);
    if (checks.some((check) => failuresOf.get(check) === 1)) {
      clearTimeout(againTimer);
      againTimer = setTimeout(() => checkLoop.wake(), againAfterMs);
    }
  });

  const checkMetrics = observeChecks(checks, () => failingChecks, logger);

  return {
    failing: () => [...(isLeaving ? [stoppingCheck] : []), ...namesOf(failingChecks)],
    takesRequests,
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    suspect() {
      // Many requests may meet the same failure, but the checks need not run for each of them.
      if (performance.now() - lastRanAt > againAfterMs) checkLoop.wake();
    },
    leave() {
      isLeaving = true;
    },
    async [Symbol.asyncDispose]() {
      checkMetrics[Symbol.dispose]();
      clearTimeout(againTimer);
      await checkLoop[Symbol.asyncDispose]();
      clearTimeout(againTimer);
    },
  };
}

function observeChecks(
  checks: readonly Check[],
  failingChecks: () => readonly Check[],
  logger: Logger,
): Disposable {
  return observe('aag.check.failing', () =>
    checks.map((check) => ({
      value: failingChecks().includes(check) ? 1 : 0,
      labels: { component: componentOf(logger), check: check.name },
    })),
  );
}

function logChange(
  logger: Logger,
  failingBefore: readonly Check[],
  failingNow: readonly Check[],
): void {
  const newlyFailingNames = namesOf(failingNow.filter((check) => !failingBefore.includes(check)));
  const recoveredNames = namesOf(failingBefore.filter((check) => !failingNow.includes(check)));
  if (newlyFailingNames.length > 0) logger.error({ failing: newlyFailingNames }, 'not ready');
  if (recoveredNames.length > 0) {
    logger.info({ passing: recoveredNames, isReady: failingNow.length === 0 }, 'checks pass again');
  }
}

function namesOf(checks: readonly Check[]): string[] {
  return checks.map((check) => check.name).toSorted();
}
