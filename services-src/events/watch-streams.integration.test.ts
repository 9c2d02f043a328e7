import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import pino from 'pino';
import { expect, test, vi } from 'vitest';

import { connectBus, storeApi } from '#bus';
import { createTestEnvironment } from '../../test/support/environment.ts';
import { smallStreams } from '../../test/support/streams.ts';
import { provisionStreams } from './provision.ts';
import { watchStreams } from './watch-streams.ts';

const waitUntil = (expectation: () => void) =>
  vi.waitFor(expectation, { timeout: 45_000, interval: 50 });

test('watchStreams reports how full a stream is, how long nobody has read it, and which streams and consumers are missing', async () => {
  const auditBytesMax = 1024 * 1024;
  await using environment = await createTestEnvironment({ streams: { auditBytesMax } });
  const url = (environment.variables['GATEWAY_NATS_URL'] ?? '').replace('gateway:', 'provision:');
  await using provision = await connectBus({ url, name: 'provision' });
  const { streams, consumers } = await jetstreamManager(provision.nats);
  const store = jetstream((await environment.connect('executor')).nats);
  const fillTo = async (percent: number) => {
    const { state } = await streams.info('AUDIT');
    const bytes = (auditBytesMax * percent) / 100 - state.bytes;
    for (let left = bytes; left > 0; left -= 20_000) {
      await store.publish('aud.executor.x', 'x'.repeat(Math.min(left, 20_000)));
    }
  };
  const logged: string[] = [];
  await using watch = watchStreams({
    bus: await environment.connect('gateway'),
    checkEveryMs: 50,
    behindAfterMs: 1_000,
    logger: pino(
      { level: 'info' },
      {
        write(line: string) {
          const { level, stream, durable, msg } = JSON.parse(line) as Record<string, string>;
          logged.push(`${pino.levels.labels[Number(level)]} ${durable ?? stream}: ${msg}`);
        },
      },
    ),
  });
  const readAuditState = () => watch.states().streams.AUDIT;
  const readConsumerState = () => watch.states().consumers.audit;

  await waitUntil(() =>
    expect(readAuditState()).toMatchObject({ status: 'ok', messages: 0, oldest_seconds: 0 }),
  );
  await waitUntil(() =>
    expect(readConsumerState()).toEqual({ status: 'ok', waiting: 0, unread_seconds: 0 }),
  );
  await fillTo(60);
  await waitUntil(() => expect(logged).toContain('warn AUDIT: stream fills'));
  expect(readAuditState().status).toBe('ok');
  await fillTo(85);
  await waitUntil(() => expect(readAuditState().status).toBe('degraded'));
  expect(readAuditState().fill_percent).toBeGreaterThanOrEqual(80);
  expect(readAuditState().bytes_max).toBe(auditBytesMax);
  await waitUntil(() => expect(readConsumerState().status).toBe('behind'));
  // One check asks for the stream and then for the reader; a record that is published between the
  // two is counted only for the reader.
  await waitUntil(() => expect(readConsumerState().waiting).toBe(readAuditState().messages));

  await streams.purge('AUDIT');
  await waitUntil(() => expect(readConsumerState().status).toBe('ok'));
  await consumers.delete('EVENTS', 'notifier');
  await waitUntil(() => expect(watch.states().consumers.notifier.status).toBe('missing'));
  await streams.delete('EVENTS');
  await waitUntil(() => expect(watch.states().streams.EVENTS.status).toBe('missing'));
  await provisionStreams(provision, smallStreams);
  await waitUntil(() => {
    expect(watch.states().streams.EVENTS.status).toBe('ok');
    expect(watch.states().consumers.notifier.status).toBe('ok');
    expect(watch.states().consumers.policy.status).toBe('ok');
  });

  // The order of two lines depends on how long filling the stream takes, so the lines are compared
  // sorted.
  expect(logged.filter((line) => !line.includes('policy')).toSorted()).toEqual(
    [
      'warn AUDIT: stream fills',
      'error AUDIT: stream is nearly full',
      'error audit: events are left unread',
      'info AUDIT: stream has room again',
      'info audit: events are read again',
      'error notifier: durable consumer is missing: run migrate',
      'error EVENTS: stream is missing: run migrate',
      'info EVENTS: stream has room again',
      'info notifier: events are read again',
    ].toSorted(),
  );
});

test('a message that a reader received and left to a later release counts as unread only since its last delivery', async () => {
  await using environment = await createTestEnvironment();
  const publisher = jetstream((await environment.connect('approvals')).nats);
  await publisher.publish('evt.approvals.approval.postponed', 'x');
  const { nats } = await environment.connectReader('notifier');
  const { consumers } = jetstream(nats, { apiPrefix: storeApi });
  const consumer = await consumers.get('EVENTS', 'notifier');
  (await consumer.next())?.nak();
  await using watch = watchStreams({
    bus: await environment.connect('gateway'),
    logger: pino({ enabled: false }),
    checkEveryMs: 50,
  });
  const readConsumerState = () => watch.states().consumers.notifier;
  await waitUntil(() => expect(readConsumerState().unread_seconds).toBeGreaterThan(1));
  (await consumer.next())?.nak();
  await waitUntil(() => expect(readConsumerState().unread_seconds).toBeLessThan(2));
  expect(readConsumerState().waiting).toBe(1);
});
