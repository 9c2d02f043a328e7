import { expect, test } from 'vitest';

import { currentRequestId, runWithRequestId } from '../telemetry/request-id.ts';
import { repeat } from './repeat.ts';

test('a task does not run under the id of the request that wakes it', async () => {
  const runs: (string | undefined)[] = [];
  await using loop = repeat(3_600_000, async () => void runs.push(currentRequestId()));

  runWithRequestId('019a2b3c-0000-7000-8000-000000000001', () => loop.wake());

  await expect.poll(() => runs).toEqual([undefined]);
});
