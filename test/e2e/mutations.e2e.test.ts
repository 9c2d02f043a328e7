import { setTimeout as delay } from 'node:timers/promises';

import { afterAll, beforeAll, describe, test } from 'vitest';

import { mutationsOfAccounts } from './mutations/accounts.ts';
import { mutationsOfAuthority } from './mutations/authority.ts';
import { mutationsOfServices } from './mutations/services.ts';
import { approved, openStage } from './mutations/stage.ts';
import type { Stage } from './mutations/stage.ts';

/** A stage for each: nobody may own more than a hundred templates. */
const tables = [
  [
    'an allowed call that waits for its requester',
    { ...mutationsOfServices, ...mutationsOfAuthority },
  ],
  ['an allowed call with an account that waits for its requester', mutationsOfAccounts],
] as const;
/** What was looked up is used for a second at most, should the event of its change be lost. */
const lookUpsLiveMs = 1_500;

/**
 * Whatever somebody changes between allow and replay, the approved bytes leave or nothing does
 * (docs/reference/approvals.md#the-frozen-call). The upstream's own log is the judge.
 */
describe.for(tables)('%s', ([, mutations]) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  test.concurrent.for(Object.entries(mutations))(
    'after %s',
    async ([, { outcome, change, ...setting }], { expect, onTestFinished }) => {
      const scene = await stage.suspend(setting);
      onTestFinished(() => scene.leave());
      await change(scene);
      await delay(lookUpsLiveMs);

      expect(await scene.replay()).toEqual(outcome);
    },
  );

  test.concurrent.for(Object.entries(mutations))(
    'at the same moment as %s',
    async ([, { outcome, change, ...setting }], { expect, onTestFinished }) => {
      const scene = await stage.suspend(setting);
      onTestFinished(() => scene.leave());
      const [{ ended, sent }] = await Promise.all([scene.replay(), change(scene)]);

      expect([[], [approved(1)], outcome.sent]).toContainEqual(sent);
      expect(sent.length).toBe(ended === 'executed' ? 1 : 0);
    },
  );
});
