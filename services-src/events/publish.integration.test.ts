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
import { eventsStream } from '../contracts/events.ts';
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

/** Fields as long as this, of characters that JSON escapes. */
const fieldsOf = (length: number) =>
  Array.from({ length: 50 }, (_, at) => ({
    label: `Field ${at}`,
    value: '"'.repeat(length),
    truncated: false,
  }));

/** The stream as its administrator has it. */
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
    change: (settings: { max_msg_size: number }) => streams.update(eventsStream, settings),
    stored: async () => (await streams.info(eventsStream)).state.messages,
    /** The last message, as the events that it holds. */
    last: async (): Promise<unknown[]> => {
      const { state } = await streams.info(eventsStream);
      const message = await streams.getMessage(eventsStream, { seq: state.last_seq });
      return [message?.json<unknown>()].flat();
    },
    [Symbol.asyncDispose]: () => nats.close(),
  };
}

test('an event whose id another component has used is stored all the same, and logged', async () => {
  await using stream = await openStream();
  const before = await stream.stored();
  const publisher = openPublisher(await environment.connect('executor'), 'executor', logger);
  const event = newEvent();
  const { nats } = await environment.connect('gateway');
  const headers = createHeaders();
  headers.set('Nats-Msg-Id', event.id);
  await nats.request('aud.gateway.action.denied', 'mine', { headers, timeout: 5_000 });

  await publisher.publish(event);
  expect((await stream.stored()) - before).toBe(2);
  expect(logged.map(({ msg }) => msg)).toEqual(['somebody else has published under this id']);
});

test('an event is published when the stream has it, and not when the stream refuses it', async () => {
  await using stream = await openStream();
  const publisher = openPublisher(await environment.connect('executor'), 'executor', logger);
  const event = newEvent();

  const before = await stream.stored();
  await publisher.publish(event);
  expect(await stream.stored()).toBe(before + 1);

  await stream.change({ max_msg_size: 10 });
  await expect(publisher.publish(newEvent())).rejects.toMatchObject({ code: 'unavailable' });
  const together = Array.from({ length: 5 }, () => publisher.publish(newEvent()));
  const settled = await Promise.allSettled(together);
  expect(settled.map(({ status }) => status)).toEqual(together.map(() => 'rejected'));

  await stream.change({ max_msg_size: -1 });
  await publisher.publish(newEvent());
  expect(await stream.stored()).toBe(before + 2);
});

test('events that are too large for one message together are all published', async () => {
  await using stream = await openStream();
  const publisher = openPublisher(await environment.connect('executor'), 'executor', logger);
  const before = await stream.stored();

  // About a MiB each: the second to the last wait for the first, and would leave as one.
  await Promise.all(Array.from({ length: 8 }, () => publisher.publish(newEvent(fieldsOf(10_240)))));
  expect((await stream.stored()) - before).toBe(8);
  const [last] = await stream.last();
  expect(eventSchema.parse(last).audit?.disclosed).toEqual(fieldsOf(10_240));

  // Small ones share messages still.
  await Promise.all(Array.from({ length: 65 }, () => publisher.publish(newEvent())));
  expect((await stream.stored()) - before).toBe(10);
});

test('an event that is too large for any message is published with its values cut', async () => {
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
