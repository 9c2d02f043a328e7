import { setTimeout as sleep } from 'node:timers/promises';

import type { Processes } from './processes.ts';
import { describeFault, scheduleFaults } from './schedule.ts';
import type { Fault, Server } from './schedule.ts';
import type { Servers } from './servers.ts';

export interface Injection {
  /** Every fault so far, in the order in which they began. */
  readonly faults: readonly Fault[];
  /** Lets the faults in hand pass, and resolves when everything serves again. */
  heal(): Promise<void>;
}

/** Processes that are starting at one moment, before another fault begins. */
const downMax = 2;

function countDown({ all }: Processes): number {
  return all.filter((replica) => !replica.isReady()).length;
}

/** Begins one fault after another as the schedule says. Faults of one target wait for each other. */
export function injectFaults({
  processes,
  servers,
  random,
  everyMs,
  say,
}: {
  processes: Processes;
  servers: Servers;
  random: () => number;
  /** On average. */
  everyMs: number;
  say: (line: string) => void;
}): Injection {
  const faults: Fault[] = [];
  const ending = new AbortController();
  const inHand = new Map<string, Promise<void>>();
  /** Set when a fault could not be done, which is the harness's failure and ends the run. */
  let failure: Error | undefined;

  const enqueue = (target: string, work: () => Promise<void>): Promise<void> => {
    const done = (inHand.get(target) ?? Promise.resolve()).then(work).catch((error: unknown) => {
      failure ??= error instanceof Error ? error : new Error(String(error));
    });
    inHand.set(target, done);
    return done;
  };
  const restart = (server: Server, how: 'asked' | 'killed', downMs: number) =>
    enqueue(server, async () => {
      await (how === 'killed' ? servers.kill(server) : servers.stop(server));
      await sleep(downMs);
      await servers.start(server);
    });
  const begin = (fault: Fault): void => {
    switch (fault.kind) {
      case 'kill':
        return void enqueue(fault.target, () => processes.get(fault.target).kill(fault.downMs));
      case 'stop': {
        const { target, forMs } = fault;
        const signal = (name: 'SIGSTOP' | 'SIGCONT') =>
          target === 'nats' ? servers.signal(target, name) : processes.get(target).signal(name);
        return void enqueue(target, async () => {
          signal('SIGSTOP');
          await sleep(forMs);
          signal('SIGCONT');
        });
      }
      case 'restart':
        return void restart(fault.target, fault.how, fault.downMs);
      case 'reset':
        for (const replica of processes.all) void replica.kill(fault.downMs);
        for (const server of ['postgres', 'nats'] as const) {
          void restart(server, 'killed', fault.downMs);
        }
    }
  };

  const injecting = (async () => {
    const startedAt = performance.now();
    for (const { afterMs, fault } of scheduleFaults(random, everyMs)) {
      await sleep(afterMs, undefined, { signal: ending.signal }).catch(() => undefined);
      // A slow machine must not be down all the time: then nothing would be under way to disturb.
      while (!ending.signal.aborted && countDown(processes) > downMax) await sleep(100);
      if (ending.signal.aborted) return;
      say(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${describeFault(fault)}`);
      faults.push(fault);
      begin(fault);
    }
  })();

  return {
    faults,
    async heal() {
      ending.abort();
      await injecting;
      await Promise.all(inHand.values());
      if (failure !== undefined) throw failure;
      await Promise.all(processes.all.map((replica) => replica.untilReady()));
    },
  };
}
