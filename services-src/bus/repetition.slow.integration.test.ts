import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { auth } from '#contracts/bus/auth';
import { defineContract } from '#contracts/define';
import { AppError } from '#errors';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { createClient, deadlineIn, serve } from './index.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment({ serverLogLevel: 'silent' });
});
afterAll(() => environment[Symbol.asyncDispose]());

const logger = pino({ level: 'silent' });
const { ping, listPublicKeys } = auth.endpoints;
const contract = defineContract('auth', {
  listPublicKeys,
  ping: { ...ping, timeoutMs: 2_500, repeatable: false },
});
const keys = { keys: [] };
/** What the handler of a dead replica does: it never answers. */
const neverSettles = new Promise<never>(() => undefined);

/** Serves the contract; `handle` gets the number of the request, which begins with 1. */
async function listen(handle: (request: number) => Promise<void>) {
  let requestCount = 0;
  const serving = await serve(
    await environment.connect('auth'),
    contract,
    {
      listPublicKeys: async () => {
        await handle((requestCount += 1));
        return keys;
      },
      ping: async () => {
        await handle((requestCount += 1));
        return {};
      },
    },
    { logger },
  );
  return {
    requests: () => requestCount,
    // Not awaited, because handlers that never answer would never end.
    [Symbol.dispose]: () => void serving[Symbol.asyncDispose](),
  };
}

async function connectGateway() {
  return createClient(await environment.connect('gateway'), contract);
}

test('a repeatable request whose first replica never answers is answered by a second request', async () => {
  using replica = await listen((request) => (request === 1 ? neverSettles : Promise.resolve()));
  const gateway = await connectGateway();

  await expect(gateway.listPublicKeys({}, deadlineIn(30_000))).resolves.toEqual(keys);

  expect(replica.requests()).toBe(2);
});

test('a request that is not repeatable is sent once when no answer comes, and fails with `lost: true`', async () => {
  using replica = await listen(() => neverSettles);
  const gateway = await connectGateway();

  await expect(gateway.ping({}, deadlineIn(30_000))).rejects.toMatchObject({
    code: 'unavailable',
    details: { lost: true },
  });

  expect(replica.requests()).toBe(1);
});

test('when the second request is refused, the client returns the answer to the first', async () => {
  const untilRefused = Promise.withResolvers<void>();
  using _replica = await listen(async (request) => {
    if (request === 1) return untilRefused.promise;
    // The answer to the first request is sent 100 ms after the refusal of the second.
    setTimeout(untilRefused.resolve, 100);
    throw new AppError('unavailable', 'No room.', { details: { busy: true } });
  });
  const gateway = await connectGateway();

  await expect(gateway.listPublicKeys({}, deadlineIn(30_000))).resolves.toEqual(keys);
});

test('no repeatable request is sent more than twice', async () => {
  using replica = await listen(() => neverSettles);
  const gateway = await connectGateway();

  await expect(gateway.listPublicKeys({}, deadlineIn(2_500))).rejects.toMatchObject({
    code: 'unavailable',
    details: { lost: true },
  });

  expect(replica.requests()).toBe(2);
});
