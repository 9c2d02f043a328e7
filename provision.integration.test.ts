import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';

import { connectBus, natsAccounts } from '#bus';
import { ConfigError } from '#config';
import { provisionBus } from './provision.ts';
import { startNats } from './services-src/embedded/index.ts';

const password = 'CANARY-bus-password';
const mebibyte = 1024 * 1024;
const tooMuch = {
  replicas: 1,
  auditBytesMax: 32 * mebibyte,
  eventsBytesMax: 16 * mebibyte,
  filesBytesMax: 16 * mebibyte,
};

/** Starts a NATS server that may store only 60 MiB; returns the URL for the user `provision`. */
async function startSmallNats(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-room-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const server = await startNats({
    dataDir,
    logger: pino({ level: 'silent' }),
    config: natsAccounts(() => JSON.stringify(password)),
    storeBytesMax: 60 * mebibyte,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server.url.replace('nats://', `nats://provision:${password}@`);
}

test('if NATS has no room for the streams, migrate fails and says how much room they need', async () => {
  const natsUrl = await startSmallNats();
  const failure = await provisionBus({ natsUrl, ...tooMuch }).catch((error: unknown) => error);

  expect(failure).toBeInstanceOf(ConfigError);
  expect((failure as ConfigError).message).toBe(
    'NATS has no room for its streams: AUDIT_BYTES_MAX=33554432 + EVENTS_BYTES_MAX=16777216 + ' +
      'CAP_FILES_BYTES=16777216 is 67108864 bytes. Set max_file_store of each NATS server to ' +
      '67108864 bytes or more, on a disk that has them, or lower these settings by what is missing ' +
      'there. Then run migrate again.',
  );
  await provisionBus({ natsUrl, ...tooMuch, auditBytesMax: 28 * mebibyte });
});

test('if NATS has no room for the new streams, migrate does not change the single stream of an earlier version', async () => {
  const natsUrl = await startSmallNats();
  await using bus = await connectBus({ url: natsUrl, name: 'provision' });
  const manager = await jetstreamManager(bus.nats);
  const subjects = ['evt.>', 'aud.>'];
  await manager.streams.add({ name: 'EVENTS', subjects, max_bytes: 40 * mebibyte });

  await expect(provisionBus({ natsUrl, ...tooMuch })).rejects.toThrow(
    '67108864 bytes, beside the 41943040 bytes of other streams. Set max_file_store of each NATS ' +
      'server to 109051904 bytes or more',
  );
  expect((await manager.streams.info('EVENTS')).config.subjects).toEqual(subjects);
  await jetstream(bus.nats).publish('aud.auth.x', 'taken');
});
