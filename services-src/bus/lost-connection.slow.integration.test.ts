import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { NatsConnection, Status } from '@nats-io/transport-node';
import { pino } from 'pino';
import { expect, test } from 'vitest';

import { auth } from '#contracts/bus/auth';
import { defineContract } from '#contracts/define';
import { lastingPort, startNats } from '../embedded/index.ts';
import { connectBus, createClient, deadlineIn, natsAccounts, serve } from './index.ts';

const { ping, listPublicKeys } = auth.endpoints;
const contract = defineContract('auth', {
  // Longer than a test may take.
  listPublicKeys: { ...listPublicKeys, timeoutMs: 120_000 },
  ping: { ...ping, timeoutMs: 120_000, repeatable: false },
});
const logger = pino({ level: 'silent' });
const keys = { keys: [] };
const neverSettles = new Promise<never>(() => undefined);

/**
 * A NATS server that can be killed and restarted. A replica of auth and a client that sends
 * requests to auth are connected to the server.
 */
async function connectPair() {
  await using startup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-lost-connection-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const port = await lastingPort();
  const config = natsAccounts((user) => user);
  const start = () => startNats({ dataDir, logger, config, port });
  let nats = await start();
  startup.defer(() => nats[Symbol.asyncDispose]());
  const connect = async (name: 'auth' | 'gateway') =>
    startup.use(await connectBus({ url: `nats://${name}:${name}@127.0.0.1:${port}`, name }));
  const arrivedRequests: ('listPublicKeys' | 'ping')[] = [];
  let areAnswered = false;
  const handle = async (name: (typeof arrivedRequests)[number]) => {
    arrivedRequests.push(name);
    if (!areAnswered) await neverSettles;
  };
  await serve(
    await connect('auth'),
    contract,
    {
      listPublicKeys: () => handle('listPublicKeys').then(() => keys),
      ping: () => handle('ping').then(() => ({})),
    },
    { logger },
  );
  const bus = await connect('gateway');
  const gateway = createClient(bus, contract);
  const startedResources = startup.move();
  return {
    gateway,
    arrived: arrivedRequests,
    /** From now on requests are answered. Requests that arrived before stay unanswered. */
    answer: () => void (areAnswered = true),
    /** Returns once the client knows that the connection is lost. */
    async kill() {
      const untilLost = waitForStatus(bus.nats, 'disconnect');
      process.kill(nats.pid, 'SIGKILL');
      await Promise.all([nats.exited, untilLost]);
      await nats[Symbol.asyncDispose]();
    },
    async start() {
      nats = await start();
    },
    [Symbol.asyncDispose]: () => startedResources.disposeAsync(),
  };
}

async function waitForStatus(nats: NatsConnection, wanted: Status['type']): Promise<void> {
  for await (const { type } of nats.status()) if (type === wanted) return;
}

test('repeatable requests whose answers were lost with the connection are sent again after the reconnection', async () => {
  await using pair = await connectPair();
  const pendingAnswer = pair.gateway.listPublicKeys({}, deadlineIn(120_000));
  await expect.poll(() => pair.arrived.length, { timeout: 10_000 }).toBe(2);

  await pair.kill();
  pair.answer();
  await pair.start();

  await expect(pendingAnswer).resolves.toEqual(keys);
});

test('a request that is not repeatable is not sent again after the connection was lost, and fails with `lost: true` after the reconnection', async () => {
  await using pair = await connectPair();
  const pendingAnswer = pair.gateway.ping({}, deadlineIn(120_000));
  const expectedRejection = expect(pendingAnswer).rejects.toMatchObject({
    code: 'unavailable',
    details: { lost: true },
  });
  await expect.poll(() => pair.arrived).toEqual(['ping']);

  await pair.kill();
  await pair.start();

  await expectedRejection;
  expect(pair.arrived).toEqual(['ping']);
});

test('a request that is made while there is no connection fails with `lost: false`, and is not sent later', async () => {
  await using pair = await connectPair();
  pair.answer();
  await pair.gateway.ping({}, deadlineIn(120_000));
  await pair.kill();

  for (const _attempt of ['held back for a while', 'at once']) {
    await expect(pair.gateway.ping({}, deadlineIn(120_000))).rejects.toMatchObject({
      code: 'unavailable',
      details: { lost: false },
    });
  }
  await pair.start();

  await expect
    .poll(() => pair.gateway.listPublicKeys({}, deadlineIn(120_000)).catch(() => null), {
      timeout: 20_000,
    })
    .toEqual(keys);
  expect(pair.arrived.filter((name) => name === 'ping')).toHaveLength(1);
});
