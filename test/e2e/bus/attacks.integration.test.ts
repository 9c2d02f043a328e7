import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { violationsOf } from '../../support/nats-violations.ts';
import { openStage, openUnrestrictedStage } from './attack.testing.ts';
import type { Stage } from './attack.testing.ts';
import { attacks } from './attacks.testing.ts';
import type { Attack } from './attacks.testing.ts';

describe('with the credentials of one component', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  test.for(attacks)('$thief: $name: comes to nothing', async (attack) => {
    const thief = connectionOf(stage, attack);
    let succeeded: () => Promise<boolean> | boolean = () => true;
    const refused = await violationsOf(thief, async () => {
      succeeded = await attack.run(stage);
      await stage.settle();
    });
    expect(await succeeded()).toBe(false);
    // What the server lets through was really tried, and what it refuses is refused here.
    expect(refused.size > 0).toBe(attack.isRefused === true);
  });

  test.for(attacks)('$thief: $name: works where nothing prevents it', async (attack) => {
    await using unrestricted = await openUnrestrictedStage();
    const version = unrestricted.as('gateway').info?.version ?? '';
    const succeeded = await attack.run(unrestricted);
    // A server without the feature cannot be attacked by it. When the pinned server gains it,
    // this fails until `worksOn` is corrected.
    if (attack.worksOn?.(version) === false) {
      await unrestricted.settle();
      expect(await succeeded()).toBe(false);
      return;
    }
    await expect.poll(() => succeeded(), { timeout: 10_000 }).toBe(true);
  });
});

function connectionOf(stage: Stage, { thief, isReader }: Attack) {
  return isReader ? stage.readerOf(thief as 'audit') : stage.as(thief);
}
