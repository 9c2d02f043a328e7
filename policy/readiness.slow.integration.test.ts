import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { connectBus, deadlineIn } from '#bus';
import { loadConfig } from '#config';
import { proxyNats, proxyPostgres } from '../test/support/proxy.ts';
import { policyConfig } from './config.ts';
import { startPolicy } from './start.ts';
import { createPolicyWorld } from './world.testing.ts';
import type { PolicyWorld } from './world.testing.ts';

/**
 * The first replica in this world keeps working. Each test starts a second replica and breaks
 * something that the second replica depends on.
 */
let world: PolicyWorld;
beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const readConfigWith = (settings: Record<string, string>) =>
  loadConfig(policyConfig, { ...world.environment.variables, ...settings });
const variableOf = (name: string) => world.environment.variables[name] ?? '';

/** Connects with the account that may read the state of durable consumers. */
const connectProvision = () =>
  connectBus({
    url: variableOf('POLICY_NATS_URL').replace('//policy:', '//provision:'),
    name: 'provision',
  });

/**
 * Waits until the NATS server knows that the replica is gone. Until then, the replica may still be
 * sent a request, which then fails.
 */
async function waitUntilReplicaLeft(): Promise<void> {
  const canCreateRule = () =>
    createRules(1).then(
      () => true,
      () => false,
    );
  await expect.poll(canCreateRule).toBe(true);
}

/** Creates rules. Policy queries its database for each of them. */
async function createRules(ruleCount: number): Promise<void> {
  const ann = world.user();
  for (let count = 0; count < ruleCount; count += 1) {
    await world.rule(ann, ann, 'allow http:GET:api.example.com/**');
  }
}

test('a replica that has lost its database takes no requests and no events until the database is back', async () => {
  const { url, proxy } = await proxyPostgres(variableOf('POLICY_DATABASE_URL'));
  await using _proxy = proxy;
  await using bus = await connectProvision();
  const { consumers } = await jetstreamManager(bus.nats);
  const waitingReaders = async () => (await consumers.info('EVENTS', 'policy')).num_waiting;
  await using replica = await startPolicy(readConfigWith({ POLICY_DATABASE_URL: url }));
  expect(replica.readiness.failing()).toEqual([]);
  await expect.poll(waitingReaders).toBe(2);

  proxy.cut();
  await expect.poll(() => replica.readiness.failing()).toEqual(['database']);
  await waitUntilReplicaLeft();
  await createRules(50);
  await expect.poll(waitingReaders).toBe(1);

  proxy.restore();
  await expect.poll(() => replica.readiness.failing()).toEqual([]);
  await expect.poll(waitingReaders).toBe(2);
});

test('a replica whose database has stopped answering takes no requests', async () => {
  const { url, proxy } = await proxyPostgres(variableOf('POLICY_DATABASE_URL'));
  await using _proxy = proxy;
  await using replica = await startPolicy(readConfigWith({ POLICY_DATABASE_URL: url }));

  proxy.freeze();
  await expect.poll(() => replica.readiness.failing()).toEqual(['database']);
  await waitUntilReplicaLeft();
  await createRules(50);

  proxy.restore();
  await expect.poll(() => replica.readiness.failing()).toEqual([]);
});

test.for([
  ['ahead', 2_000],
  ['behind', -2_000],
])('a replica whose clock is 2 s %s is not ready, and takes no requests', async ([, byMs]) => {
  await using replica = await startPolicy(readConfigWith({}), {
    now: () => Date.now() + (byMs as number),
  });
  const ann = world.user();

  expect(replica.readiness.failing()).toEqual(['clock']);
  for (let round = 0; round < 20; round += 1) {
    const requestedAt = Date.now();
    const { time = 0 } = await world.gateway.ping({}, deadlineIn(5_000));
    expect(time).toBeGreaterThan(requestedAt - 1_000);
    expect(time).toBeLessThan(Date.now() + 1_000);
  }
  await world.rule(ann, ann, 'allow http:GET:api.example.com/**');
});

test('a replica whose NATS server has stopped answering is not ready', async () => {
  const { url, proxy } = await proxyNats(variableOf('POLICY_NATS_URL'));
  await using _proxy = proxy;
  await using replica = await startPolicy(readConfigWith({ POLICY_NATS_URL: url }));
  expect(replica.readiness.failing()).toEqual([]);

  proxy.freeze();
  await expect.poll(() => replica.readiness.failing()).toEqual(['bus']);

  proxy.restore();
  await expect.poll(() => replica.readiness.failing()).toEqual([]);
});

test('a replica whose durable consumer is missing is not ready, but still decides calls', async () => {
  await using replica = await startPolicy(readConfigWith({}));
  expect(replica.readiness.failing()).toEqual([]);
  await using bus = await connectProvision();
  const { consumers } = await jetstreamManager(bus.nats);

  await consumers.delete('EVENTS', 'policy');

  await expect.poll(() => replica.readiness.failing()).toEqual(['consumer']);
  await createRules(3);
});
