import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream';
import pino from 'pino';
import { describe, expect, test, vi } from 'vitest';

import { connectBus } from '#bus';
import type { Bus } from '#bus';
import { lastingPort, startNats } from '../embedded/index.ts';
import { smallStreams } from '../../test/support/streams.ts';
import { provisionStreams } from './provision.ts';

const logger = pino({ level: 'silent' });

interface Server extends AsyncDisposable {
  readonly bus: Bus;
}

/** Starts a server on which `provision` may do everything, and logs in. */
async function startServer(config = ''): Promise<Server> {
  await using startup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-provision-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true }));
  const server = startup.use(await startNats({ dataDir, logger, config }));
  const bus = startup.use(await connectBus({ url: server.url, name: 'provision' }));
  const runningResources = startup.move();
  return { bus, [Symbol.asyncDispose]: () => runningResources.disposeAsync() };
}

/** Configurations of three servers that form a cluster. */
async function createClusterConfigs(): Promise<string[]> {
  const ports = [await lastingPort(), await lastingPort(), await lastingPort()];
  const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
  return ports.map(
    (port, at) => `server_name: n${at}
      cluster { name: test, listen: "127.0.0.1:${port}", routes: [${routes}] }`,
  );
}

/** A new cluster answers nothing until it has elected a leader. */
async function waitForLeader(bus: Bus): Promise<void> {
  const manager = await jetstreamManager(bus.nats, { checkAPI: false, timeout: 1_000 });
  await vi.waitFor(() => manager.getAccountInfo(), { timeout: 60_000, interval: 100 });
}

describe('provisioning the streams', { timeout: 120_000 }, () => {
  test('moves the records that the audit log has not read out of the single stream of an earlier version', async () => {
    await using server = await startServer();
    const manager = await jetstreamManager(server.bus.nats);
    const store = jetstream(server.bus.nats);
    await manager.streams.add({
      name: 'EVENTS',
      subjects: ['evt.>', 'aud.>'],
      max_age: 7 * 86_400_000_000_000,
    });
    for (const [name, filter] of [
      ['audit', '>'],
      ['notifier', 'evt.>'],
      ['policy', 'evt.approvals.approval.remembered'],
    ] as const) {
      await manager.consumers.add('EVENTS', {
        durable_name: name,
        filter_subject: filter,
        ack_policy: AckPolicy.Explicit,
      });
    }
    const publish = async (subject: string) => {
      const id = randomUUID();
      await store.publish(subject, id, { msgID: id });
      return id;
    };
    const readRecords: string[] = [];
    const unreadRecords: string[] = [];
    for (let at = 0; at < 20; at += 1)
      readRecords.push(await publish('aud.executor.action.outcome'));
    const consumer = await store.consumers.get('EVENTS', 'audit');
    for await (const message of await consumer.fetch({ max_messages: 20 })) await message.ackAck();
    for (let at = 0; at < 1_100; at += 1) {
      unreadRecords.push(
        await publish(at % 2 === 0 ? 'aud.executor.batch' : 'aud.gateway.action.denied'),
      );
      if (at % 10 === 0) await publish('evt.auth.identity.created');
    }

    await provisionStreams(server.bus, smallStreams);
    await provisionStreams(server.bus, smallStreams);

    const found: string[] = [];
    const audit = await store.consumers.get('AUDIT', 'audit');
    for await (const message of await audit.fetch({ max_messages: 1_200, expires: 2_000 })) {
      found.push(message.string());
      message.ack();
      if (message.info.pending === 0) break;
    }
    expect(found).toEqual(unreadRecords);
    await vi.waitFor(async () => {
      expect((await manager.streams.info('AUDIT')).state.messages).toBe(0);
    });
    const { config, state } = await manager.streams.info('EVENTS');
    expect(config).toMatchObject({ subjects: ['evt.>'], retention: 'interest', max_age: 0 });
    // The new stream is empty, because the outboxes publish the events again.
    expect(state.messages).toBe(0);
  });

  test('creates the stream EVENTS again when it has lost a consumer, and keeps the records in AUDIT', async () => {
    await using server = await startServer();
    const { nats } = server.bus;
    const manager = await jetstreamManager(nats);
    await provisionStreams(server.bus, smallStreams);
    const incarnationOf = async (name: string) =>
      (await manager.streams.info(name)).config.metadata?.['incarnation'];
    const [audit, events] = [await incarnationOf('AUDIT'), await incarnationOf('EVENTS')];
    expect(audit).not.toBe(events);
    await jetstream(nats).publish('aud.auth.x', 'kept');

    await provisionStreams(server.bus, smallStreams);
    expect(await incarnationOf('EVENTS')).toBe(events);
    await manager.consumers.delete('EVENTS', 'policy');
    await manager.consumers.delete('AUDIT', 'audit');
    await provisionStreams(server.bus, smallStreams);

    expect(await incarnationOf('EVENTS')).not.toBe(events);
    expect(await incarnationOf('AUDIT')).toBe(audit);
    expect((await manager.consumers.info('AUDIT', 'audit')).num_pending).toBe(1);
    expect(await manager.consumers.info('EVENTS', 'policy')).toBeDefined();
    await jetstream(nats).publish('evt.auth.x', 'taken');
  });

  test('changes the size of a stream, and drops no record even when the stream becomes smaller than its content', async () => {
    await using server = await startServer();
    const { nats } = server.bus;
    const manager = await jetstreamManager(nats);
    await provisionStreams(server.bus, smallStreams);
    const body = 'x'.repeat(10_000);
    for (let at = 0; at < 20; at += 1) await jetstream(nats).publish('aud.auth.x', body);

    await provisionStreams(server.bus, { ...smallStreams, auditBytesMax: 50_000 });
    const { config, state } = await manager.streams.info('AUDIT');
    expect(config.max_bytes).toBe(50_000);
    expect(state.messages).toBe(20);
    await expect(jetstream(nats).publish('aud.auth.x', body)).rejects.toThrow('maximum bytes');
  });

  test('does not change how many copies of a stream a cluster keeps unless the number is given', async () => {
    await using cluster = new AsyncDisposableStack();
    const [first] = await Promise.all(
      (await createClusterConfigs()).map(async (config) => cluster.use(await startServer(config))),
    );
    const { bus } = first as Server;
    const manager = await jetstreamManager(bus.nats, { checkAPI: false, timeout: 30_000 });
    const countCopies = async () => {
      const [audit, events] = [
        await manager.streams.info('AUDIT'),
        await manager.streams.info('EVENTS'),
      ];
      return [audit.config.num_replicas, events.config.num_replicas];
    };
    const settings = { ...smallStreams, replicas: undefined };

    await waitForLeader(bus);
    await provisionStreams(bus, settings);
    expect(await countCopies()).toEqual([1, 1]);
    await provisionStreams(bus, { ...settings, replicas: 3 });
    expect(await countCopies()).toEqual([3, 3]);
    await provisionStreams(bus, settings);
    expect(await countCopies()).toEqual([3, 3]);
  });

  test('waits for a server that joins the cluster late', async () => {
    const [firstConfig, secondConfig, lateConfig] = await createClusterConfigs();
    await using cluster = new AsyncDisposableStack();
    const [{ bus }] = (await Promise.all(
      [firstConfig, secondConfig].map(async (config) => cluster.use(await startServer(config))),
    )) as [Server, Server];
    await waitForLeader(bus);

    const pendingProvision = provisionStreams(bus, { ...smallStreams, replicas: 3 });
    cluster.use(await startServer(lateConfig));
    await pendingProvision;

    const manager = await jetstreamManager(bus.nats, { timeout: 30_000 });
    const { config } = await manager.streams.info('AUDIT');
    expect(config.num_replicas).toBe(3);
  });
});
