import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { v7 as uuidv7 } from 'uuid';

import { createClient, deadlineIn } from '#bus';
import type { Client } from '#bus';
import { loadConfig } from '#config';
import { notifier } from '#contracts/bus/notifier';
import type { Event } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { createEvent, openPublisher } from '#events';
import type { Publisher } from '#events';
import { createSigner } from '#signing';
import { createTestEnvironment } from '../test/support/environment.ts';
import type { TestEnvironment } from '../test/support/environment.ts';
import { notifierConfig } from './config.ts';
import { startNotifier } from './start.ts';

interface Hit {
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** An endpoint as a customer would run it: its log is the judge. */
async function startReceiver(
  answer: (hit: Hit) => { status: number; body: string; headers?: Record<string, string> },
) {
  const hits: Hit[] = [];
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const hit = { headers: request.headers, body: Buffer.concat(chunks).toString() };
      hits.push(hit);
      const { status, body, headers } = answer(hit);
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

const echo = (hit: Hit) => {
  const { type, data } = JSON.parse(hit.body) as { type: string; data: { challenge?: string } };
  return { status: 200, body: type === 'webhook.verification' ? (data.challenge ?? '') : '' };
};

async function until<T>(read: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> {
  for (let round = 0; round < 400; round += 1) {
    const value = await read();
    if (isDone(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('did not come true within ten seconds');
}

describe('notifier', () => {
  const orgId = uuidv7();
  const userId = uuidv7();
  let environment: TestEnvironment;
  let components: AsyncDisposableStack;
  let client: Client<typeof notifier>;
  let publisher: Publisher;
  const soon = () => deadlineIn(5_000);

  function principalOf(changes: Partial<Principal> = {}): string {
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

  function raised(audience: string[] = [userId]): Event {
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
    // Two replicas: everything below must happen once all the same.
    for (let replica = 0; replica < 2; replica += 1) {
      components.use(await startNotifier(loadConfig(notifierConfig, variables)));
    }
    client = createClient(await environment.connect('gateway'), notifier);
    publisher = openPublisher(
      await environment.connect('approvals'),
      'approvals',
      pino({ enabled: false }),
    );
  });
  afterAll(async () => {
    await components?.disposeAsync();
    await environment?.[Symbol.asyncDispose]();
  });

  const subscribe = (url: string, principal = principalOf()) =>
    client.createWebhook({ principal, body: { url, events: ['approval.*'] } }, soon());
  const statusOf = (id: string) => client.getWebhook({ principal: principalOf(), id }, soon());
  const deliveriesOf = (id: string) =>
    client.listDeliveries(
      { principal: principalOf(), id, page: { limit: 50, cursor: null } },
      soon(),
    );

  test('verifies a new endpoint, then delivers each event once and signed', async () => {
    using receiver = await startReceiver(echo);
    const { id, secret, status } = await subscribe(receiver.url);
    expect(status).toBe('pending_verification');

    await until(
      () => statusOf(id),
      (webhook) => webhook.status === 'active',
    );
    const event = raised();
    await publisher.publish(event);
    await until(
      async () => receiver.hits,
      (hits) => hits.length === 2,
    );

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
    const delivered = JSON.parse(receiver.hits[1]?.body ?? '') as Record<string, unknown>;
    expect(delivered).toMatchObject({
      type: 'approval.raised',
      created_at: event.created_at,
      data: event.data,
    });
  });

  test('holds deliveries until the endpoint is verified', async () => {
    let ready = false;
    using receiver = await startReceiver((hit) => (ready ? echo(hit) : { status: 503, body: '' }));
    const { id } = await subscribe(receiver.url);
    await publisher.publish(raised());
    await until(
      () => deliveriesOf(id),
      ({ items }) => items.some((row) => row.status === 'held'),
    );

    ready = true;
    await client.verifyWebhook({ principal: principalOf(), id }, soon());

    const { items } = await until(
      () => deliveriesOf(id),
      (page) =>
        page.items.some((row) => row.type === 'approval.raised' && row.status === 'delivered'),
    );
    expect(items.filter((row) => row.type === 'approval.raised')).toHaveLength(1);
  });

  test('keeps the body and signs again when it retries', async () => {
    const answers = [500, 200];
    using receiver = await startReceiver((hit) =>
      hit.headers['x-service-event'] === 'webhook.verification'
        ? echo(hit)
        : { status: answers.shift() ?? 200, body: '' },
    );
    const { id } = await subscribe(receiver.url);
    await until(
      () => statusOf(id),
      (webhook) => webhook.status === 'active',
    );
    await publisher.publish(raised());

    const { items } = await until(
      () => deliveriesOf(id),
      (page) => page.items.some((row) => row.attempts === 1 && row.last_status_code === 500),
    );
    const failed = items.find((row) => row.last_status_code === 500);
    expect(failed).toMatchObject({ status: 'pending' });
    await client.redeliver({ principal: principalOf(), id, deliveryId: failed?.id ?? '' }, soon());

    await until(
      async () => receiver.hits,
      (hits) => hits.length === 3,
    );
    expect(receiver.hits[2]?.body).toBe(receiver.hits[1]?.body);
  });

  test('a 410 disables the subscription and says so in an event', async () => {
    using receiver = await startReceiver((hit) =>
      hit.headers['x-service-event'] === 'webhook.verification'
        ? echo(hit)
        : { status: 410, body: '' },
    );
    const { id } = await subscribe(receiver.url);
    await until(
      () => statusOf(id),
      (webhook) => webhook.status === 'active',
    );
    const { position } = await client.feedPosition({ principal: principalOf() }, soon());
    await publisher.publish(raised());

    const webhook = await until(
      () => statusOf(id),
      ({ status }) => status === 'disabled',
    );
    expect(webhook.disabled_reason).toContain('410');
    await until(
      () =>
        client.listFeed(
          { principal: principalOf(), after: position, types: ['webhook.disabled'], limit: 10 },
          soon(),
        ),
      ({ items }) => items.length === 1,
    );
  });

  test('an endpoint that does not echo the challenge stays unverified', async () => {
    using receiver = await startReceiver(() => ({ status: 200, body: 'ok' }));
    const { id } = await subscribe(receiver.url);

    const { items } = await until(
      () => deliveriesOf(id),
      (page) => page.items.some((row) => row.last_error !== null),
    );
    expect(items[0]?.last_error).toContain('challenge');
    expect((await statusOf(id)).status).toBe('pending_verification');
  });

  test('an event read twice is in the feed once and delivered once', async () => {
    using receiver = await startReceiver(echo);
    const { id } = await subscribe(receiver.url);
    await until(
      () => statusOf(id),
      (webhook) => webhook.status === 'active',
    );
    const { position } = await client.feedPosition({ principal: principalOf() }, soon());

    // Without a message id JetStream does not de-duplicate: the inbox has to.
    const bus = await environment.connect('approvals');
    const event = raised();
    for (let copy = 0; copy < 20; copy += 1) {
      bus.nats.publish('evt.approvals.approval.raised', JSON.stringify(event));
    }
    const last = raised();
    await publisher.publish(last);

    const feed = await until(
      () =>
        client.listFeed(
          { principal: principalOf(), after: position, types: ['approval.raised'], limit: 100 },
          soon(),
        ),
      ({ items }) => items.some((item) => item.event.id === last.id),
    );
    expect(feed.items.filter((item) => item.event.id === event.id)).toHaveLength(1);
    await until(
      async () => receiver.hits,
      (hits) => hits.length >= 3,
    );
    const ofEvent = receiver.hits.filter(({ body }) =>
      body.includes(String(event.data['approval_id'])),
    );
    expect(ofEvent).toHaveLength(1);
  });

  test('members see and receive their own subtree only, other orgs nothing', async () => {
    const memberId = uuidv7();
    const member = principalOf({ identityId: memberId, role: 'member' });
    const stranger = principalOf({ orgId: uuidv7(), identityId: uuidv7() });
    const { position } = await client.feedPosition({ principal: member }, soon());
    await publisher.publish(raised([userId]));
    await publisher.publish(raised([memberId]));

    const read = (principal: string) =>
      client.listFeed({ principal, after: position, types: null, limit: 50 }, soon());
    await until(
      () => read(principalOf()),
      ({ items }) => items.length >= 2,
    );
    const own = await read(member);
    expect(own.items).toHaveLength(1);
    expect(own.items[0]?.event.audience).toEqual([memberId]);
    expect((await read(stranger)).items).toHaveLength(0);
  });

  test('one that is being delivered to can be deleted at any moment', async () => {
    using receiver = await startReceiver(() => ({ status: 500, body: '' }));
    const subscribeAndDelete = async () => {
      const { id } = await subscribe(receiver.url);
      await until(
        () => deliveriesOf(id),
        ({ items }) => (items[0]?.attempts ?? 0) > 0,
      );
      await client.deleteWebhook({ principal: principalOf(), id }, soon());
      await expect(statusOf(id)).rejects.toMatchObject({ code: 'not_found' });
    };
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 30 }, subscribeAndDelete));
    }
  }, 30_000);

  test.for<[what: string, changes: Partial<Principal>, code: string]>([
    ['an auditor', { role: 'auditor' }, 'forbidden'],
    ['an expired principal', { expiresAt: Date.now() - 60_000 }, 'unauthenticated'],
  ])('%s cannot subscribe', async ([, changes, code]) => {
    await expect(
      client.createWebhook(
        { principal: principalOf(changes), body: { url: 'https://example.com/' } },
        soon(),
      ),
    ).rejects.toMatchObject({ code });
  });

  test("another org's webhook is not found, and a member's is not another member's", async () => {
    const { id } = await subscribe('https://receiver.invalid/');
    for (const principal of [
      principalOf({ orgId: uuidv7() }),
      principalOf({ identityId: uuidv7(), role: 'member' }),
    ]) {
      await expect(client.getWebhook({ principal, id }, soon())).rejects.toMatchObject({
        code: 'not_found',
      });
      await expect(client.deleteWebhook({ principal, id }, soon())).rejects.toMatchObject({
        code: 'not_found',
      });
    }
  });

  test('a member takes a quarter of the places of its org, however many are asked for at once', async () => {
    const otherOrg = uuidv7();
    const member = () => principalOf({ orgId: otherOrg, role: 'member', identityId });
    const identityId = uuidv7();
    const tries = await Promise.allSettled(
      Array.from({ length: 30 }, () => subscribe('https://receiver.invalid/', member())),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(25);
    for (const failed of tries.filter((each) => each.status === 'rejected')) {
      expect(failed.reason).toMatchObject({ code: 'conflict' });
    }

    const others = [
      principalOf({ orgId: otherOrg, role: 'member', identityId: uuidv7() }),
      principalOf({ orgId: otherOrg }),
    ];
    for (const principal of others) await subscribe('https://receiver.invalid/', principal);
    const { items } = await client.listWebhooks(
      { principal: member(), page: { limit: 50, cursor: null } },
      soon(),
    );
    const [one] = items;
    await client.deleteWebhook({ principal: member(), id: one?.id ?? '' }, soon());
    await subscribe('https://receiver.invalid/', member());
  });

  test.for<[body: { url: string; events?: string[] }, code: string]>([
    [{ url: 'ftp://example.com/' }, 'invalid_params'],
    [{ url: 'https://user:CANARY-pw@example.com/' }, 'invalid_params'],
    [{ url: 'https://example.com/', events: ['session.*'] }, 'invalid_params'],
  ])('refuses %j', async ([body, code]) => {
    await expect(
      client.createWebhook({ principal: principalOf(), body }, soon()),
    ).rejects.toMatchObject({ code });
  });

  test('a forged principal is refused', async () => {
    const forged = `${principalOf().split('.')[0]}.${randomUUID()}`;
    await expect(client.feedPosition({ principal: forged }, soon())).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });
});
