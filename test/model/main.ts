/**
 * `npm run model-check` compares the product's permission check with an independent model of it,
 * for every combination of a limited number of rules and identities. A comparison stops at its
 * first difference, and the program then exits with 1. The first difference is also the smallest
 * one, because the combinations begin with few rules and short chains of identities.
 */
import { findDenyDisagreement } from '../../policy/denials/domain/deny-space.testing.ts';
import { findDisagreement } from '../../policy/walk/domain/model-compare.testing.ts';
import { sweeps } from '../../policy/walk/domain/model-space.testing.ts';
import { positionSweep } from '../../policy/walk/domain/position-space.testing.ts';
import type { Sweep } from '../../policy/walk/domain/model-space.testing.ts';

const nameSweep = {
  name: 'every name of a request, one deny rule',
  check: findDenyDisagreement,
};
const walkSweeps = [...sweeps, positionSweep(3)].map((sweep) => ({
  name: sweep.name,
  check: () => checkSweep(sweep),
}));

for (const sweep of [nameSweep, ...walkSweeps]) {
  const startedMs = performance.now();
  const { count, found } = sweep.check();
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const verdictText = found === undefined ? 'all agree' : 'DISAGREE';
  console.log(
    `${sweep.name}: ${count.toLocaleString('en')} worlds in ${seconds} s, ${verdictText}.`,
  );
  if (found === undefined) continue;
  console.log(found);
  process.exitCode = 1;
}

function checkSweep(sweep: Sweep): { count: number; found: string | undefined } {
  let count = 0;
  for (const world of sweep.worlds()) {
    count += 1;
    const found = findDisagreement(world);
    if (found !== undefined) return { count, found };
  }
  return { count, found: undefined };
}
