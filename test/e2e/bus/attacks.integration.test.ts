import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { violationsOf } from '../../support/nats-violations.ts';
import { openStage, openUnrestrictedStage } from './attack.testing.ts';
import type { Stage } from './attack.testing.ts';
import { attacks } from './attacks.testing.ts';
import type { Attack } from './attacks.testing.ts';
import { chooseSweepValue } from '../../support/sweeps.ts';

const controlStep = chooseSweepValue({ sampled: 7, whole: 1 });

describe('an attack on the bus with the stolen credentials of one component', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  test.for(attacks)('fails with the credentials of $thief: $name', async (attack) => {
    const thiefConnection = connectionOf(stage, attack);
    let hasSucceeded: () => Promise<boolean> | boolean = () => true;
    const violations = await violationsOf(thiefConnection, async () => {
      hasSucceeded = await attack.run(stage);
      await stage.settle();
    });
    expect(await hasSucceeded()).toBe(false);
    // Permission violations prove that the server refused messages of the thief. There must be some
    // if the case expects a refusal, and none otherwise.
    expect(violations.size > 0).toBe(attack.isRefused === true);
  });

  // Each of these control tests starts a server, so `npm test` runs a fixed sample of them.
  test.for(attacks.filter((_, index) => index % controlStep === 0))(
    'succeeds on a NATS server without permissions, with the credentials of $thief: $name',
    async (attack) => {
      await using unrestricted = await openUnrestrictedStage();
      const version = unrestricted.as('gateway').info?.version ?? '';
      const hasSucceeded = await attack.run(unrestricted);
      // Some attacks use a feature that only newer servers have. Once the pinned server has the
      // feature, this test fails until someone corrects the attack's `worksOn`.
      if (attack.worksOn?.(version) === false) {
        await unrestricted.settle();
        expect(await hasSucceeded()).toBe(false);
        return;
      }
      await expect.poll(() => hasSucceeded()).toBe(true);
    },
  );
});

function connectionOf(stage: Stage, { thief, isReader }: Attack) {
  return isReader ? stage.readerOf(thief as 'audit') : stage.as(thief);
}
