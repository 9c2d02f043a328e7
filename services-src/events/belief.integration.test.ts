import { randomUUID } from 'node:crypto';

import { jetstream } from '@nats-io/jetstream';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import {
  batchSubject,
  eventSubject,
  eventTypes,
  isForAuditAlone,
  ownerOf,
} from '#contracts/events';
import type { Event, EventType } from '#contracts/events';
import { components } from '#contracts/vocabulary';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { consumeEvents } from './consume.ts';
import { onEvents } from './listen.ts';
import { createEvent } from './outbox.ts';

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment();
});
afterAll(() => environment[Symbol.asyncDispose]());

const types = Object.keys(eventTypes) as EventType[];
const orgId = randomUUID();
const newEvent = (type: EventType) =>
  createEvent({ type, orgId, audience: [], data: {}, audit: blankAuditEntry('Claimed.') });

/** Starts the readers of a durable consumer, and gives what each was told until it is disposed. */
async function read(durable: 'audit' | 'notifier', recordsRefusals: boolean) {
  const seen: Event[] = [];
  const logged: string[] = [];
  const reader = consumeEvents({
    bus: await environment.connectReader(durable),
    durable,
    recordsRefusals,
    logger: pino({ level: 'error' }, { write: (line: string) => void logged.push(line) }),
    handle: async (events) => void seen.push(...events),
  });
  return { seen, logged, [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose]() };
}
const until = (holds: () => void) => vi.waitFor(holds, { timeout: 45_000, interval: 50 });

describe('an event type and who announces it', { timeout: 120_000 }, () => {
  test('each type is believed of its owner under its own subject, and of nobody else', async () => {
    const honest: string[] = [];
    const forged: string[] = [];
    for (const component of components) {
      const stream = jetstream((await environment.connect(component)).nats);
      const publish = async (subject: string, event: Event) => {
        await stream.publish(subject, JSON.stringify(event));
        return event.id;
      };
      for (const type of types) {
        const event = newEvent(type);
        const id = await publish(eventSubject(component, type), event);
        (ownerOf(type) === component ? honest : forged).push(id);
      }
      // Under the subject of what it may announce, and among what travels together.
      const own = types.find((type) => ownerOf(type) === component) as EventType;
      const foreign = types.find((type) => ownerOf(type) !== component) as EventType;
      forged.push(await publish(eventSubject(component, own), newEvent(foreign)));
      forged.push(await publish(batchSubject(component), newEvent(foreign)));
    }

    await using audit = await read('audit', true);
    await using notifier = await read('notifier', false);
    const total = honest.length + forged.length;
    await until(() => expect(audit.seen.length).toBe(total));
    const refusals = audit.seen.filter(({ type }) => type === 'event.refused');
    const believed = audit.seen.filter(({ id }) => honest.includes(id));

    expect(believed.map(({ id }) => id).toSorted()).toEqual(honest.toSorted());
    // One of the honest ones says itself that an event was refused.
    expect(refusals.length).toBe(forged.length + 1);
    expect(refusals.some(({ id }) => forged.includes(id))).toBe(false);
    expect(audit.logged.length).toBe(forged.length);
    const told = () => notifier.seen.map(({ id }) => id);
    const announced = honest.filter((id) =>
      believed.some((event) => event.id === id && !isForAuditAlone(event.type)),
    );
    await until(() => expect(told().toSorted()).toEqual(announced.toSorted()));
  });

  test('what the audit log keeps of a forged event names it, and nothing that it claimed', async () => {
    const stream = jetstream((await environment.connect('gateway')).nats);
    const event = newEvent('approval.remembered');
    const subject = eventSubject('gateway', event.type);
    await stream.publish(subject, JSON.stringify(event));

    await using audit = await read('audit', true);
    await until(() => expect(audit.seen).toHaveLength(1));
    expect(audit.seen[0]).toMatchObject({
      type: 'event.refused',
      org_id: orgId,
      audience: [],
      data: {},
      audit: {
        description: `approval.remembered was announced as ${subject} and was not believed.`,
        identity: null,
      },
    });
    expect(audit.seen[0]?.id).not.toBe(event.id);
  });
});

test('a plain subscription hears that a forged event came, without its content', async () => {
  const heard: unknown[] = [];
  const gateway = await environment.connect('gateway');
  using _listening = onEvents(gateway, ['evt.auth.>'], (message) => void heard.push(message?.body));
  await gateway.nats.flush();
  const { nats } = await environment.connect('auth');
  const honest = newEvent('identity.revoked');
  nats.publish('evt.auth.identity.revoked', JSON.stringify(honest));
  nats.publish('evt.auth.identity.changed', JSON.stringify(honest));
  nats.publish('evt.auth.identity.changed', JSON.stringify(newEvent('rule.created')));

  await until(() => expect(heard).toHaveLength(3));
  expect(heard).toEqual([honest, null, null]);
});
