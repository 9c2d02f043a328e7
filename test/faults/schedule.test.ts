import { expect, test } from 'vitest';

import { createRandom } from '../e2e/kill/random.ts';
import {
  describeFault,
  countFaults,
  replicasOf,
  sampleSeed,
  sampledRound,
  scheduleFaults,
  wholeRound,
} from './schedule.ts';
import type { Round } from './schedule.ts';

const faultsOf = (seed: number, round = wholeRound) =>
  scheduleFaults(createRandom(seed), 1_000, round)
    .take(3 * countFaults(round))
    .toArray();

test('the same seed schedules the same faults, and another seed schedules other faults', () => {
  expect(faultsOf(1)).toEqual(faultsOf(1));
  expect(faultsOf(1)).not.toEqual(faultsOf(2));
});

test.for<[string, Round]>([
  ['whole', wholeRound],
  ['sampled', sampledRound],
])(
  'the first round of the %s schedule contains every kind of fault, and only faults of existing processes',
  ([, round]) => {
    const faults = faultsOf(3, round)
      .slice(0, countFaults(round))
      .map(({ fault }) => fault);
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(
      new Set(['kill', 'stop', 'restart', 'reset']),
    );
    const names = Object.entries(replicasOf).flatMap(([component, count]) =>
      Array.from({ length: count }, (_, index) => `${component}-${index + 1}`),
    );
    for (const fault of faults) {
      if (fault.kind === 'kill') expect(names).toContain(fault.target);
      if (fault.kind === 'stop') expect([...names, 'nats']).toContain(fault.target);
      expect(describeFault(fault)).not.toBe('');
    }
    const killedTargets = faults.flatMap((fault) => (fault.kind === 'kill' ? [fault.target] : []));
    const components = new Set(killedTargets.map((target) => target.replace(/-\d$/, '')));
    expect(components).toEqual(new Set(Object.keys(replicasOf)));
  },
);

test('in the sampled round, everything is killed at once immediately before the two stops that are longer than a lease', () => {
  const faults = faultsOf(sampleSeed, sampledRound)
    .slice(0, countFaults(sampledRound))
    .map(({ fault }) => fault);
  const resetIndex = faults.findIndex(({ kind }) => kind === 'reset');
  const stopIndexes = faults.flatMap((fault, at) =>
    fault.kind === 'stop' && fault.forMs > 15_000 ? [at] : [],
  );

  expect(resetIndex).toBeGreaterThan(0);
  expect(stopIndexes).toEqual([resetIndex + 1, resetIndex + 2]);
});

test('in the sampled round, the gateway, policy, the executor and NATS are each stopped briefly', () => {
  const stoppedComponents = faultsOf(sampleSeed, sampledRound)
    .slice(0, countFaults(sampledRound))
    .flatMap(({ fault }) => (fault.kind === 'stop' && fault.forMs < 15_000 ? [fault.target] : []))
    .map((target) => target.replace(/-\d$/, ''));

  expect(stoppedComponents.toSorted()).toEqual(['executor', 'gateway', 'nats', 'policy']);
});
