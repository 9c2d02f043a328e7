import { jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { connectBus } from '#bus';
import { AppError } from '#errors';
import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import type { RunningGateway } from '../start.ts';

let stage: Stage;
let gateway: RunningGateway;
beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const fetchReadiness = async () => {
  const { status, body } = await sendRequest(gateway.url, '/health/ready');
  return { status, ...body };
};
const statusOfGateway = async () => {
  const { body } = await sendRequest(gateway.url, '/v1/status', { token: stage.tokenFor() });
  return (body['components'] as Record<string, { status: string }>)['gateway']?.status;
};

test('a gateway is ready when everything that a call passes through answers', async () => {
  expect(await fetchReadiness()).toEqual({ status: 'ok' });
  expect(await statusOfGateway()).toBe('ok');
});

test('a gateway is ready although a component has no room, or a component that calls do not need is absent', async () => {
  let pings = 0;
  stage.standIns.policy.ping = async () => {
    pings += 1;
    throw new AppError('unavailable', 'No room.', { details: { busy: true } });
  };
  await stage.buses.notifier.nats.close();

  await expect.poll(() => pings).toBeGreaterThan(3);
  expect(await fetchReadiness()).toEqual({ status: 'ok' });
});

test('a gateway whose clock differs from that of policy is not ready', async () => {
  stage.standIns.policy.ping = async () => ({ reading: 'ok', time: Date.now() + 5_000 });

  await expect.poll(fetchReadiness).toEqual({ status: 'unavailable', failing: ['clock'] });

  stage.standIns.policy.ping = async () => ({ reading: 'ok', time: Date.now() });
  await expect.poll(fetchReadiness).toEqual({ status: 'ok' });
});

test('a gateway is not ready if a component that calls need is absent, and its status shows this component', async () => {
  await stage.buses.policy.nats.close();

  await expect.poll(fetchReadiness).toEqual({ status: 'unavailable', failing: ['policy'] });
  expect(await statusOfGateway()).toBe('unavailable');
});

test('a gateway is not ready if the stream that records calls is missing', async () => {
  const url = stage.environment.variables['GATEWAY_NATS_URL'] ?? '';
  await using bus = await connectBus({
    url: url.replace('//gateway:', '//provision:'),
    name: 'provision',
  });

  await (await jetstreamManager(bus.nats)).streams.delete('AUDIT');

  await expect
    .poll(fetchReadiness)
    .toEqual({ status: 'unavailable', failing: ['audit_stream', 'policy'] });
});
