import { describe, expect, test } from 'vitest';

import { findDenyDisagreement } from '../../denials/domain/deny-space.testing.ts';
import { findDisagreement } from './model-compare.testing.ts';
import { makerRuleSweep, userRuleSweep } from './model-space.testing.ts';
import type { Sweep } from './model-space.testing.ts';
import { positionSweep } from './position-space.testing.ts';

/** A sweep checks millions of worlds. */
const sweepTimeoutMs = 1_800_000;

/** `npm run model-check` also checks worlds with three rules. */
describe(
  'the permission walk decides like a simple second implementation',
  { timeout: sweepTimeoutMs },
  () => {
    test.for<[worlds: string, sweep: Sweep]>(
      [userRuleSweep(2), makerRuleSweep(2), positionSweep(2), positionSweep(3)].map((sweep) => [
        sweep.name,
        sweep,
      ]),
    )('in every world of this kind: %s', ([, sweep]) => {
      let count = 0;
      for (const world of sweep.worlds()) {
        const disagreement = findDisagreement(world);
        if (disagreement !== undefined) expect.fail(disagreement);
        count += 1;
      }
      expect(count).toBeGreaterThan(90_000);
    });

    test("about the deny rules that match a request, for every set of services on the request's host", () => {
      const { count, found } = findDenyDisagreement();
      expect(found).toBeUndefined();
      expect(count).toBeGreaterThan(100_000);
    });
  },
);
