import { setTimeout as delay } from 'node:timers/promises';

import { afterAll, beforeAll, describe, test } from 'vitest';

import { mutationsOfAccounts } from './mutations/accounts.ts';
import { mutationsOfAuthority } from './mutations/authority.ts';
import { mutationsOfServices } from './mutations/services.ts';
import { approvedBytes, openStage } from './mutations/stage.ts';
import type { Stage } from './mutations/stage.ts';
import { chooseSweepValue } from '../support/sweeps.ts';

const mutations = Object.entries({
  ...mutationsOfServices,
  ...mutationsOfAuthority,
  ...mutationsOfAccounts,
});
/** `npm test` makes only a part of the mutations: some before the replay, and others during it. */
const mutationStep = chooseSweepValue({ sampled: 6, whole: 1 });
const mutationsBeforeReplay = mutations.filter((_, index) => index % mutationStep === 0);
const mutationsDuringReplay = mutations.filter((_, index) => (index + 3) % mutationStep === 0);
/**
 * The wait before the replay. A component that misses the event about the change uses a cached
 * lookup for up to one second, so the wait is longer than that.
 */
const lookUpsLiveMs = 1_500;

/**
 * Whatever changes between the decision to allow a call and its replay, the upstream gets either
 * the approved bytes or nothing (docs/reference/approvals.md#the-frozen-call). The upstream's own
 * log shows what was sent.
 */
describe('an allowed call that waits for its requester', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  test.concurrent.for(
    mutationsBeforeReplay.map(
      ([what, mutation]) => [mutation.outcome.ended, what, mutation] as const,
    ),
  )(
    'ends as %s if replayed after %s',
    async ([, , { outcome, change, ...setting }], { expect, onTestFinished }) => {
      const scene = await stage.suspend(setting);
      onTestFinished(() => scene.cleanUp());
      await change(scene);
      await delay(lookUpsLiveMs);

      expect(await scene.replay()).toEqual(outcome);
    },
  );

  test.concurrent.for(mutationsDuringReplay)(
    'is sent as approved or not at all if replayed concurrently with %s',
    async ([, { outcome, change, ...setting }], { expect, onTestFinished }) => {
      const scene = await stage.suspend(setting);
      onTestFinished(() => scene.cleanUp());
      const [{ ended, sent }] = await Promise.all([scene.replay(), change(scene)]);

      expect([[], [approvedBytes(1)], outcome.sent]).toContainEqual(sent);
      expect(sent.length).toBe(ended === 'executed' ? 1 : 0);
    },
  );
});
