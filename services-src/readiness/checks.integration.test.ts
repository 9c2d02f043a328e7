import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { expect, test } from 'vitest';

import { connectBus } from '#bus';
import { createTestEnvironment } from '../../test/support/environment.ts';
import { createAuditStreamCheck } from './checks.ts';

const mebibyte = 1_048_576;

test('the check of the stream AUDIT passes again after it was full only when a fifth of the stream is free', async () => {
  await using environment = await createTestEnvironment();
  const url = (environment.variables['GATEWAY_NATS_URL'] ?? '').replace('gateway:', 'provision:');
  await using provision = await connectBus({ url, name: 'provision' });
  const { streams } = await jetstreamManager(provision.nats);
  const store = jetstream((await environment.connect('executor')).nats);
  const message = 'x'.repeat(mebibyte);
  for (let count = 0; count < 8; count += 1) await store.publish('aud.executor.x', message);
  const { state } = await streams.info('AUDIT');
  const check = createAuditStreamCheck(await environment.connect('gateway'));
  const checkWithFreeSpace = async (mebibytes: number) => {
    await streams.update('AUDIT', { max_bytes: state.bytes + mebibytes * mebibyte });
    return check.run().then(
      () => 'room',
      () => 'full',
    );
  };

  expect(await checkWithFreeSpace(1.5)).toBe('room');
  expect(await checkWithFreeSpace(0.5)).toBe('full');
  expect(await checkWithFreeSpace(1.5)).toBe('full');
  expect(await checkWithFreeSpace(3)).toBe('room');
  expect(await checkWithFreeSpace(1.5)).toBe('room');
});
