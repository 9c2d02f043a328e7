import { afterAll, beforeAll, expect, test } from 'vitest';

import { startReceiver } from '../story/receiver.ts';
import type { Receiver } from '../story/receiver.ts';
import { openEvents } from '../support/events.ts';
import type { ReceivedEvents } from '../support/events.ts';
import type { Person } from '../support/people.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const stack = new AsyncDisposableStack();
let world: World;
let receiver: Receiver;
let feed: ReceivedEvents;
let foreignFeed: ReceivedEvents;
let mia: Person;
let bot: Agent;

beforeAll(async () => {
  receiver = stack.use(await startReceiver());
  world = stack.use(await startWorld({ EGRESS_ALLOW: new URL(receiver.url).host }));
  const { admin, url } = world;
  mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
  const ben = await world.person({ orgId: admin.orgId, name: 'ben', role: 'member' });
  bot = await createAgent(url, mia, 'bot');
  const app = { client_id: 'gateway', client_secret: 'CANARY-client-secret' };
  successfulBodyOf(await admin.put('/v1/oauth-apps/github', app));
  const webhook = successfulBodyOf(
    await mia.post('/v1/webhooks', { url: receiver.url, events: ['request.*'] }),
  );
  receiver.secret = webhook.secret;
  const path = `/v1/webhooks/${webhook.id}`;
  await pollUntil(
    async () => successfulBodyOf(await mia.get(path)).status === 'active',
    'the webhook',
  );
  const types = 'request.raised,request.closed';
  feed = stack.use(await openEvents(url, mia, types));
  foreignFeed = stack.use(await openEvents(url, ben, types));
});
afterAll(() => stack.disposeAsync());

test.each([
  ['service', { template: 'github', reason: 'To file issues.' }],
  ['secret', { name: 'deploy_key', reason: 'To deploy.' }],
  ['connection', { template: 'github', name: 'code', reason: 'To file issues.' }],
])(
  'a request of the kind %s is announced to its user by SSE and by webhook',
  async (kind, fields) => {
    const request = successfulBodyOf(await bot.post('/v1/requests', { kind, ...fields }));
    successfulBodyOf(await bot.post(`/v1/requests/${request.id}/cancel`));

    for (const type of ['request.raised', 'request.closed']) {
      const isOfRequest = ({ data }: { data: { request_id?: string } }) =>
        data.request_id === request.id;
      await pollUntil(async () => feed.of(type).some(isOfRequest), `${type} by SSE`);
      await pollUntil(
        async () =>
          receiver.receivedEvents.some((event) => event.type === type && isOfRequest(event)),
        `${type} by webhook`,
      );
    }
    expect([...foreignFeed.of('request.raised'), ...foreignFeed.of('request.closed')]).toEqual([]);
  },
);
