import type { Component } from '#contracts/vocabulary';

/** How many processes each component runs as; a replica is named `executor-1`, `executor-2`. */
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
  /** SIGKILL to its process group, and a new start after `downMs`. */
  | { readonly kind: 'kill'; readonly target: string; readonly downMs: number }
  /** SIGSTOP, and SIGCONT after `forMs`: the process goes on as if nothing had been. */
  | { readonly kind: 'stop'; readonly target: string; readonly forMs: number }
  /** Asked to stop, or killed, and started again on its data. */
  | {
      readonly kind: 'restart';
      readonly target: Server;
      readonly how: 'asked' | 'killed';
      readonly downMs: number;
    }
  /** SIGKILL to every process there is at once, as a machine that resets. */
  | { readonly kind: 'reset'; readonly downMs: number };

export interface Timed {
  /** After the fault before it. */
  readonly afterMs: number;
  readonly fault: Fault;
}

/** Leases of executions and dispatches last 15 s (docs/reference/approvals.md#execution). */
const pastTheLeaseMs = 16_000;

/** One round: a single pass has every kind of fault in it. */
const killed: readonly Component[] = [
  ...(['executor', 'executor', 'executor', 'approvals', 'approvals', 'approvals'] as const),
  ...(['policy', 'gateway', 'auth', 'notifier', 'audit', 'registry'] as const),
];
const stoppedPastTheLease: readonly Component[] = ['executor', 'approvals'];
const stoppedBriefly: readonly Component[] = ['gateway', 'policy', 'executor'];
const restarted: readonly Server[] = ['postgres', 'nats'];

/**
 * The faults of one seed, without end, round by round in an order of their own. What happens
 * between two of them is up to the machine: a seed replays the faults, not the interleaving.
 */
export function* scheduleFaults(random: () => number, everyMs: number): Generator<Timed> {
  for (let round = 0; ; round += 1) {
    const faults = roundOf(random);
    // Whoever resets everything must have something to come back to: once in a while, not first.
    if (round % 3 === 0) {
      faults.splice(between(random, 8, faults.length), 0, { kind: 'reset', downMs: 500 });
    }
    for (const fault of faults) yield { afterMs: between(random, 0.4, 1.6) * everyMs, fault };
  }
}

function roundOf(random: () => number): Fault[] {
  const replica = (component: Component) =>
    `${component}-${1 + Math.floor(random() * replicasOf[component])}`;
  const faults: Fault[] = [
    ...killed.map((component): Fault => {
      return { kind: 'kill', target: replica(component), downMs: between(random, 0, 1_000) };
    }),
    ...stoppedPastTheLease.map((component): Fault => {
      const forMs = pastTheLeaseMs + between(random, 0, 4_000);
      return { kind: 'stop', target: replica(component), forMs };
    }),
    ...stoppedBriefly.map((component): Fault => {
      return { kind: 'stop', target: replica(component), forMs: between(random, 1_000, 6_000) };
    }),
    { kind: 'stop', target: 'nats', forMs: between(random, 1_000, 6_000) },
    ...restarted.flatMap((target) =>
      (['asked', 'killed'] as const).map((how): Fault => {
        return { kind: 'restart', target, how, downMs: between(random, 0, 3_000) };
      }),
    ),
  ];
  return shuffle(faults, random);
}

/** How many faults one round has, so that a run can ask for all kinds. */
export const roundLength =
  killed.length + stoppedPastTheLease.length + stoppedBriefly.length + 1 + 2 * restarted.length + 1;

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

function between(random: () => number, low: number, high: number): number {
  return low + random() * (high - low);
}

function shuffle<T>(items: T[], random: () => number): T[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [items[last], items[other]] = [items[other] as T, items[last] as T];
  }
  return items;
}
