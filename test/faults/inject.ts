import { setTimeout as sleep } from 'node:timers/promises';

import type { Processes } from './processes.ts';
import { describeFault, scheduleFaults } from './schedule.ts';
import type { Fault, Round, Server } from './schedule.ts';
import type { Servers } from './servers.ts';

export interface Injection {
  /** Every fault that has begun, in order. */
  readonly faults: readonly Fault[];
  /**
   * Begins no more faults. Resolves when the current faults are over, and every process and server
   * works again.
   */
  heal(): Promise<void>;
}

/** The most processes that may be down when another fault begins. */
const processesDownMax = 2;

function countProcessesDown({ all }: Processes): number {
  return all.filter((replica) => !replica.isReady()).length;
}

/**
 * Begins one fault after another, according to the schedule. A fault waits until the previous fault
 * of the same process or server is over.
 */
export function injectFaults({
  processes,
  servers,
  random,
  round,
  everyMs,
  say,
}: {
  processes: Processes;
  servers: Servers;
  random: () => number;
  round: Round;
  /** The average time between faults. */
  everyMs: number;
  say: (line: string) => void;
}): Injection {
  const faults: Fault[] = [];
  const ending = new AbortController();
  const runningFaults = new Map<string, Promise<void>>();
  /**
   * The error if a fault could not be injected. The test itself has failed then, and the run ends.
   */
  let failure: Error | undefined;

  const enqueue = (target: string, runFault: () => Promise<void>): Promise<void> => {
    const faultEnd = (runningFaults.get(target) ?? Promise.resolve())
      .then(runFault)
      .catch((error: unknown) => {
        failure ??= error instanceof Error ? error : new Error(String(error));
      });
    runningFaults.set(target, faultEnd);
    return faultEnd;
  };
  const restartServer = (server: Server, restartKind: 'asked' | 'killed', downMs: number) =>
    enqueue(server, async () => {
      await (restartKind === 'killed' ? servers.kill(server) : servers.stop(server));
      await sleep(downMs);
      await servers.start(server);
    });
  const beginFault = (fault: Fault): void => {
    switch (fault.kind) {
      case 'kill':
        return void enqueue(fault.target, () => processes.get(fault.target).kill(fault.downMs));
      case 'stop': {
        const { target, forMs } = fault;
        const sendSignal = async (name: 'SIGSTOP' | 'SIGCONT') =>
          target === 'nats' ? servers.signal(target, name) : processes.get(target).signal(name);
        return void enqueue(target, async () => {
          await sendSignal('SIGSTOP');
          await sleep(forMs);
          await sendSignal('SIGCONT');
        });
      }
      case 'restart':
        return void restartServer(fault.target, fault.how, fault.downMs);
      case 'reset':
        for (const replica of processes.all) void replica.kill(fault.downMs);
        for (const server of ['postgres', 'nats'] as const) {
          void restartServer(server, 'killed', fault.downMs);
        }
    }
  };

  const injectionLoop = (async () => {
    const startedAt = performance.now();
    for (const { afterMs, fault } of scheduleFaults(random, everyMs, round)) {
      await sleep(afterMs, undefined, { signal: ending.signal }).catch(() => undefined);
      // Waits until enough processes run. Otherwise all processes could be down all the time on a
      // slow machine, and no call would be in flight.
      while (!ending.signal.aborted && countProcessesDown(processes) > processesDownMax)
        await sleep(100);
      if (ending.signal.aborted) return;
      say(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${describeFault(fault)}`);
      faults.push(fault);
      beginFault(fault);
    }
  })();

  return {
    faults,
    async heal() {
      ending.abort();
      await injectionLoop;
      await Promise.all(runningFaults.values());
      if (failure !== undefined) throw failure;
      await Promise.all(processes.all.map((replica) => replica.untilReady()));
    },
  };
}
