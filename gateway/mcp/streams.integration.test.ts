import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';

import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import { createEvent } from '#events';
import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { agent } from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';
import { connectClient, stateless } from './clients.testing.ts';

let stage: Stage;
let gateway: RunningGateway;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway();
  stage.neighbours.auth.getSelfApproval = async () => ({ enabled: false });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

/** A client that signed in by OAuth, of which one thing can change. */
function viaClient(clientId = 'client-1'): Principal {
  return { ...agent(), credential: { ...agent().credential, clientId } };
}

async function announce(claims: Principal, type: 'mcp_connection.changed' | 'identity.revoked') {
  const event = createEvent({
    type,
    orgId: claims.orgId,
    audience: [claims.identityId],
    data: { agent_id: claims.identityId, client_id: claims.credential.clientId },
    audit: null,
  });
  stage.buses.auth.nats.publish(`evt.auth.${type}`, JSON.stringify(event));
  await stage.buses.auth.nats.flush();
}

interface Stream extends Disposable {
  readonly head: IncomingMessage;
  /** What has arrived so far. */
  text(): string;
}

async function open(
  token: string,
  { at = gateway.url, body, headers = {} }: { at?: string; body?: object; headers?: object } = {},
): Promise<Stream> {
  const sent = request(`${at}/mcp`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [head] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  head.on('data', (chunk: Buffer) => (text += chunk.toString()));
  head.on('error', () => undefined);
  return { head, text: () => text, [Symbol.dispose]: () => sent.destroy() };
}

const ended = async (stream: Stream) => {
  await expect.poll(() => stream.head.complete || stream.head.destroyed).toBe(true);
};
const listen = () =>
  stateless('subscriptions/listen', { notifications: { toolsListChanged: true } });
const listChanged = '"method":"notifications/tools/list_changed"';

describe('the stream of GET', () => {
  test('tells the SDK 1.x client of its own connection that the tools changed', async () => {
    const claims = viaClient();
    await using connected = await connectClient(gateway.url, stage.tokenFor(claims));
    let told = 0;
    connected.client.setNotificationHandler(
      ToolListChangedNotificationSchema,
      () => void (told += 1),
    );

    // The client opens its stream after initialize, in its own time.
    await expect
      .poll(async () => {
        await announce(claims, 'mcp_connection.changed');
        return told;
      })
      .toBeGreaterThan(0);
  });

  test('tells nobody else', async () => {
    const claims = viaClient();
    using own = await open(stage.tokenFor(claims));
    const others = [
      viaClient(),
      { ...claims, orgId: agent().orgId },
      { ...claims, credential: { ...claims.credential, clientId: 'client-2' } },
      agent(),
    ];
    const streams = await Promise.all(others.map((other) => open(stage.tokenFor(other))));

    await announce(claims, 'mcp_connection.changed');

    await expect.poll(() => own.text()).toContain(listChanged);
    for (const stream of streams) {
      expect(stream.text()).not.toContain(listChanged);
      stream[Symbol.dispose]();
    }
  });

  test.for([
    ['of sessions', () => ({})],
    ['of subscriptions/listen', listen],
  ] as const)('%s ends when the credential is revoked, and others go on', async ([, how]) => {
    const [claims, bystander] = [viaClient(), viaClient()];
    const token = stage.tokenFor(claims);
    using stream = await open(token, how());
    using other = await open(stage.tokenFor(bystander), how());
    expect(stream.head.statusCode).toBe(200);

    stage.accounts.delete(token);
    await announce(claims, 'identity.revoked');

    await ended(stream);
    expect(other.head.complete).toBe(false);
    await announce(bystander, 'mcp_connection.changed');
    await expect.poll(() => other.text()).toContain(listChanged);
  });

  test('ends when the gateway stops', async () => {
    const leaving = await stage.gateway();
    using stream = await open(stage.tokenFor(), { at: leaving.url });
    using listening = await open(stage.tokenFor(), { at: leaving.url, ...listen() });
    await leaving[Symbol.asyncDispose]();
    await ended(stream);
    await ended(listening);
  });
});
