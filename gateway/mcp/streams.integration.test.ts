import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';

import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Principal } from '#contracts/vocabulary';
import { createEvent } from '#events';
import { createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { createAgentPrincipal } from '../principals.testing.ts';
import type { RunningGateway } from '../start.ts';
import { connectClient, createStatelessRequest } from './clients.testing.ts';

let stage: Stage;
let gateway: RunningGateway;

beforeAll(async () => {
  stage = await createStage();
  gateway = await stage.gateway();
  stage.standIns.auth.getSelfApproval = async () => ({ enabled: false });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

/**
 * Returns an agent that signed in through an OAuth client. The self-approval switch of this client
 * can change.
 */
function createOauthAgent(clientId = 'client-1'): Principal {
  return {
    ...createAgentPrincipal(),
    credential: { ...createAgentPrincipal().credential, clientId },
  };
}

async function publishAuthEvent(
  claims: Principal,
  type: 'mcp_connection.changed' | 'identity.revoked',
) {
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
  /** The text received so far. */
  text(): string;
}

async function openStream(
  token: string,
  { at = gateway.url, body, headers = {} }: { at?: string; body?: object; headers?: object } = {},
): Promise<Stream> {
  const sentRequest = request(`${at}/mcp`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  sentRequest.end(body === undefined ? undefined : JSON.stringify(body));
  const [head] = (await once(sentRequest, 'response')) as [IncomingMessage];
  let text = '';
  head.on('data', (chunk: Buffer) => (text += chunk.toString()));
  head.on('error', () => undefined);
  return { head, text: () => text, [Symbol.dispose]: () => sentRequest.destroy() };
}

const waitForStreamEnd = async (stream: Stream) => {
  await expect.poll(() => stream.head.complete || stream.head.destroyed).toBe(true);
};
const createListenRequest = () =>
  createStatelessRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
const listChanged = '"method":"notifications/tools/list_changed"';

describe('the stream of GET /mcp', () => {
  test('notifies a client of changed tools when the MCP connection of this client was changed', async () => {
    const claims = createOauthAgent();
    await using connection = await connectClient(gateway.url, stage.tokenFor(claims));
    let notificationCount = 0;
    connection.client.setNotificationHandler(
      ToolListChangedNotificationSchema,
      () => void (notificationCount += 1),
    );

    // The client opens its stream some time after initialize.
    await expect
      .poll(async () => {
        await publishAuthEvent(claims, 'mcp_connection.changed');
        return notificationCount;
      })
      .toBeGreaterThan(0);
  });

  test('does not notify clients whose MCP connection was not changed', async () => {
    const claims = createOauthAgent();
    using ownStream = await openStream(stage.tokenFor(claims));
    const otherCallers = [
      createOauthAgent(),
      { ...claims, orgId: createAgentPrincipal().orgId },
      { ...claims, credential: { ...claims.credential, clientId: 'client-2' } },
      createAgentPrincipal(),
    ];
    const streams = await Promise.all(
      otherCallers.map((other) => openStream(stage.tokenFor(other))),
    );

    await publishAuthEvent(claims, 'mcp_connection.changed');

    await expect.poll(() => ownStream.text()).toContain(listChanged);
    for (const stream of streams) {
      expect(stream.text()).not.toContain(listChanged);
      stream[Symbol.dispose]();
    }
  });

  test.for([
    ['of an MCP version with sessions', () => ({})],
    ['of the method subscriptions/listen', createListenRequest],
  ] as const)(
    '%s ends when its credential is revoked, and streams of other credentials continue',
    async ([, how]) => {
      const [claims, bystander] = [createOauthAgent(), createOauthAgent()];
      const token = stage.tokenFor(claims);
      using stream = await openStream(token, how());
      using other = await openStream(stage.tokenFor(bystander), how());
      expect(stream.head.statusCode).toBe(200);

      stage.claimsByToken.delete(token);
      await publishAuthEvent(claims, 'identity.revoked');

      await waitForStreamEnd(stream);
      expect(other.head.complete).toBe(false);
      await publishAuthEvent(bystander, 'mcp_connection.changed');
      await expect.poll(() => other.text()).toContain(listChanged);
    },
  );

  test('ends when the gateway stops', async () => {
    const stoppingGateway = await stage.gateway();
    using stream = await openStream(stage.tokenFor(), { at: stoppingGateway.url });
    using listenStream = await openStream(stage.tokenFor(), {
      at: stoppingGateway.url,
      ...createListenRequest(),
    });
    await stoppingGateway[Symbol.asyncDispose]();
    await waitForStreamEnd(stream);
    await waitForStreamEnd(listenStream);
  });
});
