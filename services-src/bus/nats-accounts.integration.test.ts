import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { jetstream } from '@nats-io/jetstream';
import { pino } from 'pino';
import { expect, test } from 'vitest';

import { components } from '#contracts/vocabulary';
import { provisionBus } from '../../provision.ts';
import { startNats } from '../embedded/index.ts';
import { connectBus, connectReader, natsAccounts, storeApi } from './index.ts';

const password = 'CANARY-bus-password';
const logger = pino({ level: 'silent' });

/** How it was before each component had an account: all users in one. */
const oneAccount = `accounts { gateway { jetstream: enabled, users: [${[...components, 'provision']
  .map((user) => `{ user: ${user}, password: "${password}" }`)
  .join(', ')}] } }`;

test('an installation of before there were accounts keeps its events, read and unread', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-accounts-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true }));
  const open = async (config: string) => {
    const server = await startNats({ dataDir, logger, config });
    const urlOf = (user: string) => server.url.replace('nats://', `nats://${user}:${password}@`);
    const settings = { replicas: 1, filesBytesMax: 1024 * 1024 };
    await provisionBus({ natsUrl: urlOf('provision'), ...settings });
    return { server, urlOf };
  };

  {
    const { server, urlOf } = await open(oneAccount);
    await using _stopped = server;
    await using bus = await connectBus({ url: urlOf('auth'), name: 'auth' });
    const store = jetstream(bus.nats);
    await store.publish('evt.auth.session.created', 'read');
    const consumer = await store.consumers.get('EVENTS', 'audit');
    await (await consumer.next())?.ackAck();
    await store.publish('evt.auth.session.created', 'unread');
  }

  const { server, urlOf } = await open(natsAccounts(() => JSON.stringify(password)));
  await using _stopped = server;
  await using auth = await connectBus({ url: urlOf('auth'), name: 'auth' });
  await jetstream(auth.nats).publish('evt.auth.session.created', 'later');
  await using audit = await connectReader({ url: urlOf('audit'), name: 'audit' });
  const store = jetstream(audit.nats, { apiPrefix: storeApi });
  const consumer = await store.consumers.get('EVENTS', 'audit');
  const found: string[] = [];
  for await (const message of await consumer.fetch({ max_messages: 2, expires: 5_000 })) {
    found.push(message.string());
    message.ack();
  }
  expect(found).toEqual(['unread', 'later']);
});
