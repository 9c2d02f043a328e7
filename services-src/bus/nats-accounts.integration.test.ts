import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';

import { defineContract } from '#contracts/define';
import { components } from '#contracts/vocabulary';
import { provisionBus } from '../../provision.ts';
import { smallStreams } from '../../test/support/streams.ts';
import { startNats } from '../embedded/index.ts';
import {
  connectBus,
  connectReader,
  createClient,
  deadlineIn,
  natsAccounts,
  serve,
  storeApi,
} from './index.ts';

const password = 'CANARY-bus-password';
const logger = pino({ level: 'silent' });

/** The NATS configuration of earlier versions: all users are in one account. */
const singleAccountConfig = `accounts { gateway { jetstream: enabled, users: [${[
  ...components,
  'provision',
]
  .map((user) => `{ user: ${user}, password: "${password}" }`)
  .join(', ')}] } }`;

test('events and the positions of their readers survive the move from one NATS account to an account per component', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-accounts-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true }));
  const open = async (config: string) => {
    const server = await startNats({ dataDir, logger, config });
    const urlOf = (user: string) => server.url.replace('nats://', `nats://${user}:${password}@`);
    await provisionBus({ natsUrl: urlOf('provision'), ...smallStreams });
    return { server, urlOf };
  };

  {
    const { server, urlOf } = await open(singleAccountConfig);
    await using _stopped = server;
    await using bus = await connectBus({ url: urlOf('auth'), name: 'auth' });
    const store = jetstream(bus.nats);
    await store.publish('aud.auth.session.created', 'read');
    const consumer = await store.consumers.get('AUDIT', 'audit');
    await (await consumer.next())?.ackAck();
    await store.publish('aud.auth.session.created', 'unread');
  }

  const { server, urlOf } = await open(natsAccounts(() => JSON.stringify(password)));
  await using _stopped = server;
  await using auth = await connectBus({ url: urlOf('auth'), name: 'auth' });
  await jetstream(auth.nats).publish('aud.auth.session.created', 'later');
  await using audit = await connectReader({ url: urlOf('audit'), name: 'audit' });
  const store = jetstream(audit.nats, { apiPrefix: storeApi });
  const consumer = await store.consumers.get('AUDIT', 'audit');
  const foundMessages: string[] = [];
  for await (const message of await consumer.fetch({ max_messages: 2, expires: 5_000 })) {
    foundMessages.push(message.string());
    message.ack();
  }
  expect(foundMessages).toEqual(['unread', 'later']);
});

test('a request under way is answered even when NATS reloads its configuration meanwhile', async () => {
  await using cleanup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-reload-'));
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true }));
  const config = natsAccounts(() => JSON.stringify(password));
  const server = cleanup.use(await startNats({ dataDir, logger, config }));
  const connectAs = async (name: 'auth' | 'gateway') => {
    const url = server.url.replace('nats://', `nats://${name}:${password}@`);
    return cleanup.use(await connectBus({ url, name }));
  };
  const untilAsked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const empty = z.strictObject({});
  const contract = defineContract('auth', {
    ping: {
      request: empty,
      response: empty,
      errors: [],
      callers: ['gateway'],
      timeoutMs: 60_000,
      repeatable: false,
    },
  });
  const ping = async () => {
    untilAsked.resolve();
    await answer.promise;
    return {};
  };
  cleanup.use(await serve(await connectAs('auth'), contract, { ping }, { logger }));
  const pingAnswer = createClient(await connectAs('gateway'), contract).ping(
    {},
    deadlineIn(60_000),
  );
  await untilAsked.promise;

  const path = join(dataDir, 'nats/nats.conf');
  const before = await readFile(path, 'utf8');
  await writeFile(
    path,
    before.replace(
      'accounts {',
      `accounts { new { users: [{ user: newcomer, password: "${password}" }] }`,
    ),
  );
  process.kill(server.pid, 'SIGHUP');
  const newcomer = { servers: server.url, user: 'newcomer', pass: password };
  await expect
    .poll(async () => {
      const nats = await connect(newcomer).catch(() => undefined);
      await nats?.close();
      return nats !== undefined;
    })
    .toBe(true);
  answer.resolve();

  expect(await pingAnswer).toEqual({});
});
