import { randomUUID } from 'node:crypto';

import { jetstream } from '@nats-io/jetstream';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { blankAuditEntry } from '#contracts/audit';
import {
  batchSubjectOf,
  eventSubjectOf,
  eventTypes,
  isForAuditAlone,
  ownerOf,
  recordSubjectOf,
} from '#contracts/events';
import type { Event, EventType } from '#contracts/events';
import { components } from '#contracts/vocabulary';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { consumeEvents } from './consume.ts';
import { listenToEvents } from './listen.ts';
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

/**
 * Starts a reader of a durable consumer, and collects the events that it handles and its log lines.
 */
async function startReader(durable: 'audit' | 'notifier', recordsRefusals: boolean) {
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
const waitUntil = (expectation: () => void) =>
  vi.waitFor(expectation, { timeout: 45_000, interval: 50 });

describe('readers of events', { timeout: 120_000 }, () => {
  test('accept an event only if the owner of its type published it under a subject of this type', async () => {
    const recordIds = { honest: [] as string[], forged: [] as string[] };
    const announcedIds = { honest: [] as string[], forged: [] as string[] };
    for (const component of components) {
      const stream = jetstream((await environment.connect(component)).nats);
      const publish = async (subject: string, event: Event) => {
        await stream.publish(subject, JSON.stringify(event));
        return event.id;
      };
      for (const type of types) {
        const isOwner = ownerOf(type) === component;
        const record = await publish(recordSubjectOf(component, type), newEvent(type));
        (isOwner ? recordIds.honest : recordIds.forged).push(record);
        const event = await publish(eventSubjectOf(component, type), newEvent(type));
        const mayAnnounce = isOwner && !isForAuditAlone(type);
        (mayAnnounce ? announcedIds.honest : announcedIds.forged).push(event);
      }
      // An event of another component's type under a subject to which this component may publish,
      // once alone and once in a batch.
      const ownType = types.find((type) => ownerOf(type) === component) ?? 'rule.created';
      const foreignType = types.find((type) => ownerOf(type) !== component) as EventType;
      recordIds.forged.push(
        await publish(recordSubjectOf(component, ownType), newEvent(foreignType)),
      );
      recordIds.forged.push(await publish(batchSubjectOf(component), newEvent(foreignType)));
      announcedIds.forged.push(
        await publish(eventSubjectOf(component, ownType), newEvent(foreignType)),
      );
    }

    for (const [durable, { honest, forged }] of [
      ['audit', recordIds],
      ['notifier', announcedIds],
    ] as const) {
      await using reader = await startReader(durable, true);
      const { seen, logged } = reader;
      await waitUntil(() => expect(seen.length).toBe(honest.length + forged.length));
      const believedEvents = seen.filter(({ id }) => honest.includes(id));
      expect(believedEvents.map(({ id }) => id).toSorted()).toEqual(honest.toSorted());
      expect(seen.some(({ id }) => forged.includes(id))).toBe(false);
      const refusals = seen.filter(({ id }) => !honest.includes(id));
      expect(new Set(refusals.map(({ type }) => type))).toEqual(new Set(['event.refused']));
      expect(logged.length).toBe(forged.length);
    }
  });

  test('record a forged event by its type and subject, without its data', async () => {
    const stream = jetstream((await environment.connect('gateway')).nats);
    const event = newEvent('approval.remembered');
    for (const [durable, subject] of [
      ['audit', recordSubjectOf('gateway', event.type)],
      ['notifier', eventSubjectOf('gateway', event.type)],
    ] as const) {
      await stream.publish(subject, JSON.stringify(event));
      await using reader = await startReader(durable, true);
      await waitUntil(() => expect(reader.seen).toHaveLength(1));
      expect(reader.seen[0]).toMatchObject({
        type: 'event.refused',
        org_id: orgId,
        audience: [],
        data: {},
        audit: {
          description: `approval.remembered was announced as ${subject} and was not believed.`,
          identity: null,
        },
      });
      expect(reader.seen[0]?.id).not.toBe(event.id);
    }
  });
});

test('a reader with a plain subscription gets null for a forged event', async () => {
  const heardBodies: unknown[] = [];
  const gateway = await environment.connect('gateway');
  using _listening = listenToEvents(
    gateway,
    ['evt.auth.>'],
    (message) => void heardBodies.push(message?.body),
  );
  await gateway.nats.flush();
  const { nats } = await environment.connect('auth');
  const honest = newEvent('identity.revoked');
  nats.publish('evt.auth.identity.revoked', JSON.stringify(honest));
  nats.publish('evt.auth.identity.changed', JSON.stringify(honest));
  nats.publish('evt.auth.identity.changed', JSON.stringify(newEvent('rule.created')));

  await waitUntil(() => expect(heardBodies).toHaveLength(3));
  expect(heardBodies).toEqual([honest, null, null]);
});
