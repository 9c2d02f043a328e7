import { afterAll, beforeAll, expect, test } from 'vitest';

import type { CallResult } from '#contracts/call';
import { AppError } from '#errors';
import { sampleResult, createWorld } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

let world: World;
/** Rejects `noAnswer`, a promise for an executor's answer that never arrives during a test. */
let rejectNoAnswer: (reason: unknown) => void = () => undefined;
const noAnswer = new Promise<CallResult>((_, reject) => {
  rejectNoAnswer = reject;
});
noAnswer.catch(() => undefined);
beforeAll(async () => {
  world = await createWorld({ replicas: 2 });
});
afterAll(async () => {
  rejectNoAnswer(new AppError('unavailable', 'The test is over.'));
  await world[Symbol.asyncDispose]();
});

test('a replay asks the executor a second time if the first answer does not arrive', async () => {
  const { helper, ann, suspend, resolve, neighbours } = world;
  neighbours.sends = async (_, earlierAttempts) => {
    // The first request was lost with its executor. The next request finds the dispatch row of the
    // first.
    if (earlierAttempts === 0) return noAnswer;
    if (earlierAttempts === 1) throw new AppError('execution_in_progress', 'Under way.');
    return sampleResult;
  };
  const id = await suspend(helper);
  await resolve(ann, id, { resolution: 'allow' });

  const approval = await world.until(
    () => world.get(ann, id),
    ({ execution }) => execution !== undefined && execution.finished_at !== null,
  );
  expect(approval).toMatchObject({ execution: { status: 'executed' } });
  expect(neighbours.asked).toHaveLength(3);
});
