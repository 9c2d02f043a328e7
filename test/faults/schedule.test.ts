import { expect, test } from 'vitest';

import { createRandom } from '../e2e/kill/random.ts';
import { describeFault, replicasOf, roundLength, scheduleFaults } from './schedule.ts';

const faultsOf = (seed: number) =>
  scheduleFaults(createRandom(seed), 1_000)
    .take(3 * roundLength)
    .toArray();

test('a seed replays its faults, and another has others', () => {
  expect(faultsOf(1)).toEqual(faultsOf(1));
  expect(faultsOf(1)).not.toEqual(faultsOf(2));
});

test('the first round has every kind of fault, of processes that there are', () => {
  const faults = faultsOf(3)
    .slice(0, roundLength)
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
});
