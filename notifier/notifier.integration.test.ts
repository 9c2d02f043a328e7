import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { jetstream } from '@nats-io/jetstream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { v7 as uuidv7 } from 'uuid';

import { createClient, deadlineIn } from '#bus';
import type { Bus, Client } from '#bus';
import { loadConfig } from '#config';
import { notifier } from '#contracts/bus/notifier';
import { eventSubjectOf } from '#contracts/events';
import type { Event } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { openDatabase } from '#database';
import { createEvent } from '#events';
import { createSigner } from '#signing';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { notifierConfig } from './config.ts';
import { startNotifier } from './start.ts';
import { pruneDeliveries } from './webhooks/delivery.sql.ts';

interface ReceivedRequest {
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Starts an HTTP endpoint that records the requests it receives. */
async function startReceiver(
  answer: (receivedRequest: ReceivedRequest) => {
    status: number;
    body: string;
    headers?: Record<string, string>;
  },
) {
  const hits: ReceivedRequest[] = [];
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const receivedRequest = { headers: request.headers, body: Buffer.concat(chunks).toString() };
      hits.push(receivedRequest);
      const { status, body, headers } = answer(receivedRequest);
      reply.writeHead(status, headers).end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    hits,
    url: `http://127.0.0.1:${port}/hook`,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const answerChallenge = (receivedRequest: ReceivedRequest) => {
  const { type, data } = JSON.parse(receivedRequest.body) as {
    type: string;
    data: { challenge?: string };
  };
  return { status: 200, body: type === 'webhook.verification' ? (data.challenge ?? '') : '' };
};

async function readUntil<T>(read: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> {
  for (let round = 0; round < 4_000; round += 1) {
    const value = await read();
    if (isDone(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('did not come true within 100 s');
}

describe('the notifier', () => {
  const orgId = uuidv7();
  const userId = uuidv7();
  let environment: TestEnvironment;
  let components: AsyncDisposableStack;
  let client: Client<typeof notifier>;
  let approvals: Bus;
  const testDeadline = () => deadlineIn(5_000);

  function signPrincipal(changes: Partial<Principal> = {}): string {
    const id = changes.identityId ?? userId;
    return createSigner<Principal>('principal', ...environment.keys.principal).sign({
      orgId,
      identityId: id,
      kind: 'user',
      userId: id,
      role: 'admin',
      chain: [{ id, kind: 'user', name: 'ann', inheritPermissions: false }],
      autoCallOnApprove: true,
      credential: { kind: 'session', id: uuidv7(), clientId: null },
      scopes: ['user', 'approvals'],
      expiresAt: Date.now() + 10_000,
      ...changes,
    });
  }

  function createRaisedEvent(audience: string[] = [userId]): Event {
    return createEvent({
      type: 'approval.raised',
      orgId,
      audience,
      data: { approval_id: uuidv7() },
      audit: null,
    });
  }

  beforeAll(async () => {
    environment = await createTestEnvironment();
    components = new AsyncDisposableStack();
    const variables = { ...environment.variables, EGRESS_ALLOW: '127.0.0.0/8' };
    // Two replicas run, and every effect below must still happen only once.
    for (let replica = 0; replica < 2; replica += 1) {
      components.use(await startNotifier(loadConfig(notifierConfig, variables)));
    }
    client = createClient(await environment.connect('gateway'), notifier);
    approvals = await environment.connect('approvals');
  });
  afterAll(async () => {
    await components?.disposeAsync();
    await environment?.[Symbol.asyncDispose]();
  });

  /** Publishes an event as the outbox relay of approvals does. */
  const publishEvent = (event: Event) =>
    jetstream(approvals.nats).publish(
      eventSubjectOf('approvals', event.type),
      JSON.stringify(event),
    );
  const subscribe = (url: string, principal = signPrincipal()) =>
    client.createWebhook({ principal, body: { url, events: ['approval.*'] } }, testDeadline());
  const webhookStatusOf = (id: string) =>
    client.getWebhook({ principal: signPrincipal(), id }, testDeadline());
  const deliveriesOf = (id: string) =>
    client.listDeliveries(
      { principal: signPrincipal(), id, page: { limit: 50, cursor: null } },
      testDeadline(),
    );

  test('verifies a new endpoint, and then delivers each event once, with a signature', async () => {
    using receiver = await startReceiver(answerChallenge);
    const { id, secret, status } = await subscribe(receiver.url);
    expect(status).toBe('pending_verification');

    await readUntil(
      () => webhookStatusOf(id),
      (webhook) => webhook.status === 'active',
    );
    const traceId = 'b'.repeat(32);
    const event = { ...createRaisedEvent(), traceparent: `00-${traceId}-${'c'.repeat(16)}-01` };
    await publishEvent(event);
    await readUntil(
      async () => receiver.hits,
      (hits) => hits.length === 2,
    );
    expect(JSON.stringify(receiver.hits)).not.toContain(traceId);

    for (const { headers, body } of receiver.hits) {
      const timestamp = String(headers['x-service-timestamp']);
      const expected = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
      expect(headers['x-service-signature-v1']).toBe(`v1=${expected}`);
      expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(300);
      const envelope = JSON.parse(body) as Record<string, unknown>;
      expect(headers['x-service-delivery']).toBe(envelope['id']);
      expect(headers['x-service-event']).toBe(envelope['type']);
      expect(headers['x-service-org']).toBe(orgId);
    }
    const deliveredBody = JSON.parse(receiver.hits[1]?.body ?? '') as Record<string, unknown>;
    expect(deliveredBody).toMatchObject({
      type: 'approval.raised',
      created_at: event.created_at,
      data: event.data,
    });
  });

  test('holds deliveries until the endpoint is verified', async () => {
    let ready = false;
    using receiver = await startReceiver((receivedRequest) =>
      ready ? answerChallenge(receivedRequest) : { status: 503, body: '' },
    );
    const { id } = await subscribe(receiver.url);
    await publishEvent(createRaisedEvent());
    await readUntil(
      () => deliveriesOf(id),
      ({ items }) => items.some((row) => row.status === 'held'),
    );

    ready = true;
    await client.verifyWebhook({ principal: signPrincipal(), id }, testDeadline());

    const { items } = await readUntil(
      () => deliveriesOf(id),
      (page) =>
        page.items.some((row) => row.type === 'approval.raised' && row.status === 'delivered'),
    );
    expect(items.filter((row) => row.type === 'approval.raised')).toHaveLength(1);
  });

  test('deletes deliveries after 30 days, even of a webhook that was never verified, but no pending delivery', async () => {
    using receiver = await startReceiver(() => ({ status: 503, body: '' }));
    const { id } = await subscribe(receiver.url);
    for (const event of [createRaisedEvent(), createRaisedEvent()]) await publishEvent(event);
    const listStatuses = async () => (await deliveriesOf(id)).items.map(({ status }) => status);
    await readUntil(listStatuses, (statuses) => statuses.length === 3);
    await using db = openDatabase({
      url: environment.variables['NOTIFIER_DATABASE_URL'] ?? '',
      schema: 'notifier',
      connectionsMax: 1,
    });
    await db`update notifier.delivery set created_at = now() - interval '29 days' where webhook_id = ${id}`;
    await pruneDeliveries(db, { days: 30, limit: 100 });
    expect((await listStatuses()).toSorted()).toEqual(['held', 'held', 'pending']);

    await db`update notifier.delivery set created_at = now() - interval '31 days' where webhook_id = ${id}`;
    await pruneDeliveries(db, { days: 30, limit: 100 });
    expect(await listStatuses()).toEqual(['pending']);
  });

  test('sends the same body with a new signature when it retries', async () => {
    const answerStatuses = [500, 200];
    using receiver = await startReceiver((receivedRequest) =>
      receivedRequest.headers['x-service-event'] === 'webhook.verification'
        ? answerChallenge(receivedRequest)
        : { status: answerStatuses.shift() ?? 200, body: '' },
    );
    const { id } = await subscribe(receiver.url);
    await readUntil(
      () => webhookStatusOf(id),
      (webhook) => webhook.status === 'active',
    );
    await publishEvent(createRaisedEvent());

    const { items } = await readUntil(
      () => deliveriesOf(id),
      (page) => page.items.some((row) => row.attempts === 1 && row.last_status_code === 500),
    );
    const failed = items.find((row) => row.last_status_code === 500);
    expect(failed).toMatchObject({ status: 'pending' });
    await client.redeliver(
      { principal: signPrincipal(), id, deliveryId: failed?.id ?? '' },
      testDeadline(),
    );

    await readUntil(
      async () => receiver.hits,
      (hits) => hits.length === 3,
    );
    expect(receiver.hits[2]?.body).toBe(receiver.hits[1]?.body);
  });

  test('disables a subscription whose endpoint answers 410, and emits an event', async () => {
    using receiver = await startReceiver((receivedRequest) =>
      receivedRequest.headers['x-service-event'] === 'webhook.verification'
        ? answerChallenge(receivedRequest)
        : { status: 410, body: '' },
    );
    const { id } = await subscribe(receiver.url);
    await readUntil(
      () => webhookStatusOf(id),
      (webhook) => webhook.status === 'active',
    );
    const { position } = await client.feedPosition({ principal: signPrincipal() }, testDeadline());
    await publishEvent(createRaisedEvent());

    const webhook = await readUntil(
      () => webhookStatusOf(id),
      ({ status }) => status === 'disabled',
    );
    expect(webhook.disabled_reason).toContain('410');
    await readUntil(
      () =>
        client.listFeed(
          { principal: signPrincipal(), after: position, types: ['webhook.disabled'], limit: 10 },
          testDeadline(),
        ),
      ({ items }) => items.length === 1,
    );
  });

  test('does not verify an endpoint that does not return the challenge', async () => {
    using receiver = await startReceiver(() => ({ status: 200, body: 'ok' }));
    const { id } = await subscribe(receiver.url);

    const { items } = await readUntil(
      () => deliveriesOf(id),
      (page) => page.items.some((row) => row.last_error !== null),
    );
    expect(items[0]?.last_error).toContain('challenge');
    expect((await webhookStatusOf(id)).status).toBe('pending_verification');
  });

  test('records and delivers an event once, even if it receives the event twice', async () => {
    using receiver = await startReceiver(answerChallenge);
    const { id } = await subscribe(receiver.url);
    await readUntil(
      () => webhookStatusOf(id),
      (webhook) => webhook.status === 'active',
    );
    const { position } = await client.feedPosition({ principal: signPrincipal() }, testDeadline());

    // Without a message id JetStream does not remove duplicates, so the inbox must.
    const event = createRaisedEvent();
    for (let copy = 0; copy < 20; copy += 1) {
      approvals.nats.publish('evt.approvals.approval.raised', JSON.stringify(event));
    }
    const last = { ...createRaisedEvent(), traceparent: 'never shown' };
    await publishEvent(last);

    const feed = await readUntil(
      () =>
        client.listFeed(
          { principal: signPrincipal(), after: position, types: ['approval.raised'], limit: 100 },
          testDeadline(),
        ),
      ({ items }) => items.some((item) => item.event.id === last.id),
    );
    expect(feed.items.filter((item) => item.event.id === event.id)).toHaveLength(1);
    expect(JSON.stringify(feed)).not.toContain('never shown');
    await readUntil(
      async () => receiver.hits,
      (hits) => hits.length >= 3,
    );
    const requestsOfEvent = receiver.hits.filter(({ body }) =>
      body.includes(String(event.data['approval_id'])),
    );
    expect(requestsOfEvent).toHaveLength(1);
  });

  test('announces to the audit log, once, that an event was forged', async () => {
    await using db = openDatabase({
      url: environment.variables['NOTIFIER_DATABASE_URL'] ?? '',
      schema: 'notifier',
      connectionsMax: 1,
    });
    const forgedSubject = 'evt.approvals.approval.resolved';
    for (const event of [createRaisedEvent(), createRaisedEvent()]) {
      for (let copy = 0; copy < 3; copy += 1) {
        await jetstream(approvals.nats).publish(forgedSubject, JSON.stringify(event));
      }
    }
    const rows = await readUntil(
      () => db<{ body: string }[]>`
        select body from outbox where type = 'event.refused' and published_at is not null
      `,
      ({ length }) => length >= 2,
    );
    expect(rows).toHaveLength(2);
    expect(JSON.parse(rows[0]?.body ?? '')).toMatchObject({
      org_id: orgId,
      data: {},
      audit: {
        description: `approval.raised was announced as ${forgedSubject} and was not believed.`,
      },
    });
  });

  test('sends a member only events of the member and its agents, and sends another org no events', async () => {
    const memberId = uuidv7();
    const member = signPrincipal({ identityId: memberId, role: 'member' });
    const stranger = signPrincipal({ orgId: uuidv7(), identityId: uuidv7() });
    const { position } = await client.feedPosition({ principal: member }, testDeadline());
    await publishEvent(createRaisedEvent([userId]));
    await publishEvent(createRaisedEvent([memberId]));

    const read = (principal: string) =>
      client.listFeed({ principal, after: position, types: null, limit: 50 }, testDeadline());
    await readUntil(
      () => read(signPrincipal()),
      ({ items }) => items.length >= 2,
    );
    const ownFeed = await read(member);
    expect(ownFeed.items).toHaveLength(1);
    expect(ownFeed.items[0]?.event.audience).toEqual([memberId]);
    expect((await read(stranger)).items).toHaveLength(0);
  });

  test('deletes a webhook while a delivery to the webhook is running', async () => {
    using receiver = await startReceiver(() => ({ status: 500, body: '' }));
    const subscribeAndDelete = async () => {
      const { id } = await subscribe(receiver.url);
      await readUntil(
        () => deliveriesOf(id),
        ({ items }) => (items[0]?.attempts ?? 0) > 0,
      );
      await client.deleteWebhook({ principal: signPrincipal(), id }, testDeadline());
      await expect(webhookStatusOf(id)).rejects.toMatchObject({ code: 'not_found' });
    };
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 30 }, subscribeAndDelete));
    }
  });

  test.for<[what: string, changes: Partial<Principal>, code: string]>([
    ['a webhook of an auditor', { role: 'auditor' }, 'forbidden'],
    ['a webhook for an expired principal', { expiresAt: Date.now() - 60_000 }, 'unauthenticated'],
  ])('refuses to create %s', async ([, changes, code]) => {
    await expect(
      client.createWebhook(
        { principal: signPrincipal(changes), body: { url: 'https://example.com/' } },
        testDeadline(),
      ),
    ).rejects.toMatchObject({ code });
  });

  test('hides webhooks of another org and of another member', async () => {
    const { id } = await subscribe('https://receiver.invalid/');
    for (const principal of [
      signPrincipal({ orgId: uuidv7() }),
      signPrincipal({ identityId: uuidv7(), role: 'member' }),
    ]) {
      await expect(client.getWebhook({ principal, id }, testDeadline())).rejects.toMatchObject({
        code: 'not_found',
      });
      await expect(client.deleteWebhook({ principal, id }, testDeadline())).rejects.toMatchObject({
        code: 'not_found',
      });
    }
  });

  test("lets a member create at most a quarter of the org's webhooks, even with concurrent requests", async () => {
    const otherOrg = uuidv7();
    const member = () => signPrincipal({ orgId: otherOrg, role: 'member', identityId });
    const identityId = uuidv7();
    const creations = await Promise.allSettled(
      Array.from({ length: 30 }, () => subscribe('https://receiver.invalid/', member())),
    );
    expect(creations.filter(({ status }) => status === 'fulfilled')).toHaveLength(25);
    for (const failed of creations.filter((each) => each.status === 'rejected')) {
      expect(failed.reason).toMatchObject({ code: 'conflict' });
    }

    const others = [
      signPrincipal({ orgId: otherOrg, role: 'member', identityId: uuidv7() }),
      signPrincipal({ orgId: otherOrg }),
    ];
    for (const principal of others) await subscribe('https://receiver.invalid/', principal);
    const { items } = await client.listWebhooks(
      { principal: member(), page: { limit: 50, cursor: null } },
      testDeadline(),
    );
    const [one] = items;
    await client.deleteWebhook({ principal: member(), id: one?.id ?? '' }, testDeadline());
    await subscribe('https://receiver.invalid/', member());
  });

  test.for<[body: { url: string; events?: string[] }, code: string]>([
    [{ url: 'ftp://example.com/' }, 'invalid_params'],
    [{ url: 'https://user:CANARY-pw@example.com/' }, 'invalid_params'],
    [{ url: 'https://example.com/', events: ['session.*'] }, 'invalid_params'],
  ])('refuses to create a webhook from the body %j', async ([body, code]) => {
    await expect(
      client.createWebhook({ principal: signPrincipal(), body }, testDeadline()),
    ).rejects.toMatchObject({ code });
  });

  test('refuses a forged principal', async () => {
    const forgedPrincipal = `${signPrincipal().split('.')[0]}.${randomUUID()}`;
    await expect(
      client.feedPosition({ principal: forgedPrincipal }, testDeadline()),
    ).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });
});
