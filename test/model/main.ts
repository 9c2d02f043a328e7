/**
 * `npm run model-check`: compares the permission walk with a model of it, on every world of a
 * bounded space. Ends with code 1 at the first disagreement of a sweep, which is the smallest,
 * because each goes from few rules to many and from short chains to long.
 */
import { findDenyDisagreement } from '../../policy/domain/deny-space.testing.ts';
import { findDisagreement } from '../../policy/domain/model-compare.testing.ts';
import { sweeps } from '../../policy/domain/model-space.testing.ts';
import type { Sweep } from '../../policy/domain/model-space.testing.ts';

const names = {
  name: 'every name of a request, one deny rule',
  check: findDenyDisagreement,
};
const walks = sweeps.map((sweep) => ({ name: sweep.name, check: () => check(sweep) }));

for (const sweep of [names, ...walks]) {
  const startedMs = performance.now();
  const { count, found } = sweep.check();
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const result = found === undefined ? 'all agree' : 'DISAGREE';
  console.log(`${sweep.name}: ${count.toLocaleString('en')} worlds in ${seconds} s, ${result}.`);
  if (found === undefined) continue;
  console.log(found);
  process.exitCode = 1;
}

function check(sweep: Sweep): { count: number; found: string | undefined } {
  let count = 0;
  for (const world of sweep.worlds()) {
    count += 1;
    const found = findDisagreement(world);
    if (found !== undefined) return { count, found };
  }
  return { count, found: undefined };
}
