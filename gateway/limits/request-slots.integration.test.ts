import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { clientGoneSubject } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { createAgentPrincipal } from '../principals.testing.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await createStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Opens requests that no component answers, until the caller has used up its slots. */
async function openHangingRequests(url: string, token: string, path: string) {
  const endController = new AbortController();
  // All responses are kept, because `fetch` ends the stream of a response that is
  // garbage-collected.
  const responses: Response[] = [];
  for (let n = 0; n < 80; n += 1) {
    const sentRequest = fetch(new URL(path, url), {
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
      },
      signal: endController.signal,
    });
    void sentRequest.then(
      (response) => void responses.push(response),
      () => undefined,
    );
  }
  return {
    statuses: () => responses.map(({ status }) => status),
    refusals: () => responses.filter(({ status }) => status !== 200),
    end: () => endController.abort(),
  };
}

const expectAllSlotsTaken = (takenSlots: { refusals: () => readonly Response[] }) => {
  // One caller may use half of the 64 slots, so about 48 of its 80 requests are refused. The count
  // varies, because a slot may become free while the requests arrive.
  expect(takenSlots.refusals().length).toBeGreaterThan(80 - 36);
  expect(takenSlots.refusals().length).toBeLessThan(80 - 28);
};

describe('a caller with many unanswered requests', () => {
  const claims: Principal = { ...createAgentPrincipal(), scopes: ['user', 'approvals'] };
  const otherCallers: readonly [name: string, other: Principal][] = [
    [
      'another agent of the user',
      { ...createAgentPrincipal(), orgId: claims.orgId, userId: claims.userId },
    ],
    ['another user of the org', { ...createAgentPrincipal(), orgId: claims.orgId }],
    ['another org', createAgentPrincipal()],
  ];
  const rates = { RATE_IDENTITY_PER_MINUTE: '0', RATE_USER_PER_MINUTE: '0' };

  test('gets at most half of the slots until its requests end, and other callers are still served', async () => {
    await using gateway = await stage.gateway({ ...rates, GATEWAY_IN_FLIGHT_MAX: '64' });
    const token = stage.tokenFor(claims);
    let requestCount = 0;
    const { promise: verified, reject: verify } = Promise.withResolvers<never>();
    // This is the request to a component whose answer the gateway waits for longest; it is not
    // repeated.
    stage.standIns.audit.verify = () => {
      requestCount += 1;
      return verified;
    };
    const takenSlots = await openHangingRequests(gateway.url, token, '/v1/audit/verify');
    await vi.waitFor(() => {
      expectAllSlotsTaken(takenSlots);
      expect(requestCount + takenSlots.refusals().length).toBe(80);
    }, 30_000);

    for (const refusal of takenSlots.refusals()) {
      expect(refusal.status).toBe(429);
      expect(refusal.headers.get('retry-after')).toBe('5');
      expect(await refusal.json()).toMatchObject({
        error: 'rate_limited',
        message: expect.stringContaining('of this identity'),
      });
    }
    for (const [name, other] of otherCallers) {
      const { status } = await sendRequest(gateway.url, '/v1/status', {
        token: stage.tokenFor(other),
      });
      expect(status, name).toBe(200);
    }
    expect(await sendRequest(gateway.url, '/v1/status', { token })).toMatchObject({ status: 429 });

    takenSlots.end();
    await vi.waitFor(async () => {
      expect(await sendRequest(gateway.url, '/v1/status', { token })).toMatchObject({
        status: 200,
      });
    }, 30_000);
    verify(new Error('it is over'));
    delete stage.standIns.audit.verify;
  });

  test.for(['/v1/events', '/mcp'])(
    'leaves slots in which other callers can open event streams (%s)',
    async (path) => {
      await using gateway = await stage.gateway({
        ...rates,
        GATEWAY_STREAMS_MAX: '64',
      });
      stage.standIns.notifier.feedPosition = async () => ({ position: 1 });
      const token = stage.tokenFor(claims);
      const takenSlots = await openHangingRequests(gateway.url, token, path);
      await vi.waitFor(() => {
        expect(takenSlots.statuses()).toHaveLength(80);
        expectAllSlotsTaken(takenSlots);
      }, 30_000);
      expect(takenSlots.refusals().every(({ status }) => status === 429)).toBe(true);
      for (const [name, other] of otherCallers) {
        const hangingRequest = await openHangingRequests(gateway.url, stage.tokenFor(other), path);
        await vi.waitFor(() => expect(hangingRequest.statuses(), name).toContain(200), 30_000);
        hangingRequest.end();
      }
      takenSlots.end();
    },
  );
});

describe('connections from one address', () => {
  const request = (port: string) => `GET /health/live HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
  const openConnection = async (url: string): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  const requestHealth = async (url: string, socket: Socket): Promise<string> => {
    socket.write(request(new URL(url).port));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString();
  };

  test('are limited before anything is read from them; closing one allows a new one', async () => {
    await using gateway = await stage.gateway({ CONNECTIONS_PER_ADDRESS_MAX: '5' });
    const { url } = gateway;
    const sockets: Socket[] = [];
    for (let n = 0; n < 5; n += 1) {
      const socket = await openConnection(url);
      // An answer proves that the server has counted the connection.
      expect(await requestHealth(url, socket)).toContain('200 OK');
      sockets.push(socket);
    }
    const refusedStream = await openConnection(url);
    const [answer] = (await once(refusedStream, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 429 .*"error":"rate_limited"/s);
    if (!refusedStream.closed) await once(refusedStream, 'close');

    sockets[0]?.destroy();
    await vi.waitFor(async () => {
      const socket = await openConnection(url);
      expect(await requestHealth(url, socket)).toContain('200 OK');
      sockets.push(socket);
    }, 30_000);
    for (const socket of sockets) socket.destroy();
  });

  test.for(['127.0.0.1', 'loopback', '10.0.0.0/8,127.0.0.0/8'])(
    'are not limited when they come from a trusted proxy (%s)',
    async (proxies) => {
      await using gateway = await stage.gateway({
        CONNECTIONS_PER_ADDRESS_MAX: '2',
        TRUSTED_PROXIES: proxies,
      });
      const sockets = await Promise.all(
        Array.from({ length: 6 }, () => openConnection(gateway.url)),
      );
      for (const socket of sockets) {
        expect(await requestHealth(gateway.url, socket)).toContain('200 OK');
        socket.destroy();
      }
    },
  );
});

describe('a client that disconnects before its call is answered', () => {
  const auditId = randomUUID();
  const permit = {
    outcome: 'permit' as const,
    permit: 'signed'.padEnd(40, '-'),
    auditId,
    service: 'github',
    template: 'github',
    action: 'get',
    permissionKeys: ['github:get:*'],
    description: 'Get it',
  };
  const read = { ...permit, risk: 'read' as const, nonRead: false };
  const callAction = async (url: string, signal: AbortSignal) => {
    const body = JSON.stringify({ service: 'github', action: 'get', params: {} });
    const headers = {
      authorization: `Bearer ${stage.tokenFor()}`,
      'content-type': 'application/json',
    };
    await fetch(new URL('/v1/actions/call', url), { method: 'POST', headers, body, signal });
  };
  const listenToDisconnects = () => {
    const receivedEvents: unknown[] = [];
    const subscription = stage.buses.executor.nats.subscribe(clientGoneSubject, {
      callback: (_failure, message) => void receivedEvents.push(message.json()),
    });
    return { heard: receivedEvents, [Symbol.dispose]: () => subscription.unsubscribe() };
  };

  test('makes the executors end its call if this is a read', async () => {
    await using gateway = await stage.gateway();
    using disconnectListener = listenToDisconnects();
    const { promise: answered, reject: fail } = Promise.withResolvers<never>();
    const client = new AbortController();
    stage.standIns.policy.decide = async () => read;
    stage.standIns.executor.execute = () => {
      client.abort();
      return answered;
    };
    await expect(callAction(gateway.url, client.signal)).rejects.toThrow();

    await expect.poll(() => disconnectListener.heard).toEqual([{ auditId }]);
    fail(new AppError('upstream_timeout', 'It was cancelled.', { details: { audit_id: auditId } }));
  });

  test('prevents that its call is sent if this is a read that policy has not decided yet', async () => {
    const client = new AbortController();
    const executed: unknown[] = [];
    {
      await using gateway = await stage.gateway();
      stage.standIns.policy.decide = async () => {
        client.abort();
        // This answer proves that the gateway has noticed the earlier disconnect.
        expect((await sendRequest(gateway.url, '/health/live')).status).toBe(200);
        return read;
      };
      stage.standIns.executor.execute = async (request) => {
        executed.push(request);
        throw new AppError('upstream_timeout', 'x', { details: { audit_id: auditId } });
      };
      await expect(callAction(gateway.url, client.signal)).rejects.toThrow();
      // At the end of this block the gateway stops, and first finishes open requests.
    }
    expect(executed).toEqual([]);
  });
});
