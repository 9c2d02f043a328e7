import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';

/**
 * The number of processes of each component. Replicas have names such as `executor-1` and
 * `executor-2`.
 */
export const replicasOf = {
  auth: 2,
  registry: 2,
  policy: 2,
  executor: 2,
  approvals: 2,
  notifier: 2,
  audit: 2,
  gateway: 2,
} as const satisfies Record<Component, number>;

export type Server = 'postgres' | 'nats';

export type Fault =
  /** SIGKILL to the process group; the process starts again after `downMs`. */
  | { readonly kind: 'kill'; readonly target: string; readonly downMs: number }
  /**
   * SIGSTOP, and SIGCONT after `forMs`. The process then continues without knowing that it was
   * stopped.
   */
  | { readonly kind: 'stop'; readonly target: string; readonly forMs: number }
  /** Postgres or NATS is stopped or killed, and started again with its data. */
  | {
      readonly kind: 'restart';
      readonly target: Server;
      readonly how: 'asked' | 'killed';
      readonly downMs: number;
    }
  /** SIGKILL to every process at once, as if the machine had lost power. */
  | { readonly kind: 'reset'; readonly downMs: number };

export interface TimedFault {
  /** The time since the previous fault. */
  readonly afterMs: number;
  readonly fault: Fault;
}

/**
 * Longer than the leases of executions and dispatches, which last 15 s
 * (docs/reference/approvals.md#execution).
 */
const pastTheLeaseMs = 16_000;

/**
 * The components that are killed and stopped in one round. Each round contains every kind of fault.
 */
export interface Round {
  readonly killedComponents: readonly Component[];
  readonly stoppedPastTheLease: readonly Component[];
  readonly stoppedBriefly: readonly Component[];
}

export const wholeRound: Round = {
  killedComponents: [
    ...(['executor', 'executor', 'executor', 'approvals', 'approvals', 'approvals'] as const),
    ...(['policy', 'gateway', 'auth', 'notifier', 'audit', 'registry'] as const),
  ],
  stoppedPastTheLease: ['executor', 'approvals'],
  stoppedBriefly: ['gateway', 'policy', 'executor'],
};
/** Kills each component once. */
export const sampledRound: Round = {
  killedComponents: components,
  stoppedPastTheLease: ['executor', 'approvals'],
  stoppedBriefly: ['gateway', 'policy', 'executor'],
};
/**
 * With this seed, the stops that are longer than a lease begin right after the reset. So the reset
 * does not kill the stopped processes, and the leases of processes that the reset has killed expire
 * during the stops. The brief stops are already over, or end while the long stops last. So they do
 * not make the run longer.
 */
export const sampleSeed = 195_043;
const restartedServers: readonly Server[] = ['postgres', 'nats'];

/**
 * The endless schedule for one seed: in each round, all faults of the round in a new random order.
 * The same seed gives the same faults. What the processes do between the faults depends on the
 * machine, and may differ.
 */
export function* scheduleFaults(
  random: () => number,
  everyMs: number,
  round: Round = wholeRound,
): Generator<TimedFault> {
  for (let number = 0; ; number += 1) {
    const faults = faultsOf(round, random);
    // A reset of all processes only tests how the work before it continues. So it occurs in every
    // third round, after other faults.
    if (number % 3 === 0) {
      faults.splice(randomBetween(random, 8, faults.length), 0, { kind: 'reset', downMs: 500 });
    }
    for (const fault of faults) yield { afterMs: randomBetween(random, 0.4, 1.6) * everyMs, fault };
  }
}

function faultsOf(round: Round, random: () => number): Fault[] {
  const randomReplicaName = (component: Component) =>
    `${component}-${1 + Math.floor(random() * replicasOf[component])}`;
  const faults: Fault[] = [
    ...round.killedComponents.map((component): Fault => {
      return {
        kind: 'kill',
        target: randomReplicaName(component),
        downMs: randomBetween(random, 0, 1_000),
      };
    }),
    ...round.stoppedPastTheLease.map((component): Fault => {
      const forMs = pastTheLeaseMs + randomBetween(random, 0, 4_000);
      return { kind: 'stop', target: randomReplicaName(component), forMs };
    }),
    ...round.stoppedBriefly.map((component): Fault => {
      return {
        kind: 'stop',
        target: randomReplicaName(component),
        forMs: randomBetween(random, 1_000, 6_000),
      };
    }),
    { kind: 'stop', target: 'nats', forMs: randomBetween(random, 1_000, 6_000) },
    ...restartedServers.flatMap((target) =>
      (['asked', 'killed'] as const).map((how): Fault => {
        return { kind: 'restart', target, how, downMs: randomBetween(random, 0, 3_000) };
      }),
    ),
  ];
  return shuffle(faults, random);
}

/** The number of faults in one round. A run with this many faults includes all kinds. */
export const countFaults = ({
  killedComponents: killed,
  stoppedPastTheLease,
  stoppedBriefly,
}: Round): number =>
  killed.length +
  stoppedPastTheLease.length +
  stoppedBriefly.length +
  1 +
  2 * restartedServers.length +
  1;

export function describeFault(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
      return `SIGKILL ${fault.target}`;
    case 'stop':
      return `SIGSTOP ${fault.target} for ${(fault.forMs / 1_000).toFixed(1)} s`;
    case 'restart':
      return `${fault.target} ${fault.how === 'asked' ? 'restarted' : 'SIGKILL'}, away ${(fault.downMs / 1_000).toFixed(1)} s`;
    case 'reset':
      return 'SIGKILL everything at once';
  }
}

function randomBetween(random: () => number, low: number, high: number): number {
  return low + random() * (high - low);
}

function shuffle<T>(items: T[], random: () => number): T[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other] as T, items[last] as T];
  }
  return items;
}
