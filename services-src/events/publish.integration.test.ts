import { randomUUID } from 'node:crypto';

import { jetstreamManager } from '@nats-io/jetstream';
import { connect, headers as createHeaders } from '@nats-io/transport-node';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import type { DisclosedField } from '#contracts/audit';
import { event as eventSchema } from '#contracts/events';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { auditStream } from '../contracts/events.ts';
import { createEvent } from './outbox.ts';
import { openPublisher } from './publish.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment();
});
afterAll(() => environment[Symbol.asyncDispose]());

const logged: { level: number; msg: string }[] = [];
const logger = pino(
  { level: 'error' },
  { write: (line: string) => void logged.push(JSON.parse(line) as (typeof logged)[number]) },
);

const newEvent = (disclosed: DisclosedField[] = []) =>
  createEvent({
    type: 'action.outcome',
    orgId: randomUUID(),
    audience: [],
    data: {},
    audit: { ...blankAuditEntry('Called'), disclosed },
  });

/** Makes fields with values of this length, made of characters that JSON escapes. */
const fieldsOf = (length: number) =>
  Array.from({ length: 50 }, (_, at) => ({
    label: `Field ${at}`,
    value: '"'.repeat(length),
    truncated: false,
  }));

/** Opens the stream AUDIT with an administrator's rights. */
async function openStream() {
  const url = new URL(environment.variables['EXECUTOR_NATS_URL'] ?? '');
  const nats = await connect({
    servers: url.host,
    user: 'provision',
    pass: decodeURIComponent(url.password),
    inboxPrefix: '_INBOX_provision',
  });
  const { streams } = await jetstreamManager(nats);
  return {
    change: (settings: { max_msg_size: number }) => streams.update(auditStream, settings),
    stored: async () => (await streams.info(auditStream)).state.messages,
    /** Returns the events in the stream's last message. */
    last: async (): Promise<unknown[]> => {
      const { state } = await streams.info(auditStream);
      const message = await streams.getMessage(auditStream, { seq: state.last_seq });
      return [message?.json<unknown>()].flat();
    },
    [Symbol.asyncDispose]: () => nats.close(),
  };
}

test('an event whose id another component has already used is still stored, and the clash is logged', async () => {
  await using stream = await openStream();
  const storedBefore = await stream.stored();
  const publisher = openPublisher(await environment.connect('executor'), 'executor', logger);
  const event = newEvent();
  const { nats } = await environment.connect('gateway');
  const headers = createHeaders();
  headers.set('Nats-Msg-Id', event.id);
  await nats.request('aud.gateway.action.denied', 'mine', { headers, timeout: 30_000 });

  await publisher.publish(event);
  expect((await stream.stored()) - storedBefore).toBe(2);
  expect(logged.map(({ msg }) => msg)).toEqual([
    'another component or replica has published under this id',
  ]);
});

test('publishing an event resolves when the stream stores it, and fails when the stream refuses it', async () => {
  await using stream = await openStream();
  const publisher = openPublisher(await environment.connect('executor'), 'executor', logger);
  const event = newEvent();

  const storedBefore = await stream.stored();
  await publisher.publish(event);
  expect(await stream.stored()).toBe(storedBefore + 1);

  await stream.change({ max_msg_size: 10 });
  await expect(publisher.publish(newEvent())).rejects.toMatchObject({ code: 'unavailable' });
  const pendingPublications = Array.from({ length: 5 }, () => publisher.publish(newEvent()));
  const publicationResults = await Promise.allSettled(pendingPublications);
  expect(publicationResults.map(({ status }) => status)).toEqual(
    pendingPublications.map(() => 'rejected'),
  );

  await stream.change({ max_msg_size: -1 });
  await publisher.publish(newEvent());
  expect(await stream.stored()).toBe(storedBefore + 2);
});

test('waiting events that are together too large for one message are all published', async () => {
  await using stream = await openStream();
  const publisher = openPublisher(await environment.connect('executor'), 'executor', logger);
  const storedBefore = await stream.stored();

  // Each event has about a MiB. While the first is sent the others wait, and without the limit they
  // would be sent as one message.
  await Promise.all(Array.from({ length: 8 }, () => publisher.publish(newEvent(fieldsOf(10_240)))));
  expect((await stream.stored()) - storedBefore).toBe(8);
  const [last] = await stream.last();
  expect(eventSchema.parse(last).audit?.disclosed).toEqual(fieldsOf(10_240));

  // Small events must still share messages.
  await Promise.all(Array.from({ length: 65 }, () => publisher.publish(newEvent())));
  expect((await stream.stored()) - storedBefore).toBe(10);
});

test('an event that is too large for any message is published with truncated values', async () => {
  await using stream = await openStream();
  const publisher = openPublisher(await environment.connect('executor'), 'executor', logger);
  const large = newEvent(fieldsOf(102_400));
  large.audit?.disclosed.push({ label: 'Short', value: 'kept', truncated: false });

  await Promise.all([publisher.publish(newEvent()), publisher.publish(large)]);
  const [last] = (await stream.last()) as [typeof large];
  expect(last.id).toBe(large.id);
  const disclosed = last.audit?.disclosed ?? [];
  expect(disclosed).toHaveLength(51);
  expect(disclosed.at(-1)).toEqual({ label: 'Short', value: 'kept', truncated: false });
  for (const { value, truncated } of disclosed.slice(0, -1)) {
    expect(value).toMatch(/^"{1000,}$/);
    expect(truncated).toBe(true);
  }
});
