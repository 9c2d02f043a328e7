import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { clientGoneSubject } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { ask, createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import { agent } from './principals.testing.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await createStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Opens requests of one caller that nobody answers, until all places it gets are taken. */
async function hang(url: string, token: string, { path, body }: { path: string; body?: object }) {
  const ended = new AbortController();
  const statuses: number[] = [];
  const refusals: Response[] = [];
  for (let n = 0; n < 80; n += 1) {
    const sent = fetch(new URL(path, url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: ended.signal,
    });
    void sent.then(
      (response) => {
        statuses.push(response.status);
        if (response.status !== 200) refusals.push(response);
      },
      () => undefined,
    );
  }
  return { statuses, refusals, end: () => ended.abort() };
}

const isHanging = (taken: { refusals: readonly Response[] }) => {
  // A lone caller has half of 64 places.
  expect(taken.refusals.length).toBeGreaterThan(80 - 36);
  expect(taken.refusals.length).toBeLessThan(80 - 28);
};

describe('one caller whose requests hang', () => {
  const claims = agent();
  const others: readonly [name: string, other: Principal][] = [
    ['another agent of the user', { ...agent(), orgId: claims.orgId, userId: claims.userId }],
    ['another user of the org', { ...agent(), orgId: claims.orgId }],
    ['another org', agent()],
  ];
  const rates = { RATE_IDENTITY_PER_MINUTE: '0', RATE_USER_PER_MINUTE: '0' };

  test('gets half of the places; others are served, and it too once its requests have ended', async () => {
    await using gateway = await stage.gateway({ ...rates, GATEWAY_IN_FLIGHT_MAX: '64' });
    const token = stage.tokenFor(claims);
    let asked = 0;
    const { promise: decided, reject: decide } = Promise.withResolvers<never>();
    stage.neighbours.policy.decide = () => {
      asked += 1;
      return decided;
    };
    const body = { service: 'github', action: 'get', params: {} };
    const taken = await hang(gateway.url, token, { path: '/v1/actions/call', body });
    await vi.waitFor(() => {
      isHanging(taken);
      expect(asked + taken.refusals.length).toBe(80);
    }, 10_000);

    for (const refusal of taken.refusals) {
      expect(refusal.status).toBe(429);
      expect(refusal.headers.get('retry-after')).toBe('5');
      expect(await refusal.json()).toMatchObject({
        error: 'rate_limited',
        message: expect.stringContaining('of this identity'),
      });
    }
    for (const [name, other] of others) {
      const { status } = await ask(gateway.url, '/v1/status', { token: stage.tokenFor(other) });
      expect(status, name).toBe(200);
    }
    expect(await ask(gateway.url, '/v1/status', { token })).toMatchObject({ status: 429 });

    taken.end();
    await vi.waitFor(async () => {
      expect(await ask(gateway.url, '/v1/status', { token })).toMatchObject({ status: 200 });
    }, 10_000);
    decide(new Error('it is over'));
    delete stage.neighbours.policy.decide;
  });

  test.for(['/v1/events', '/mcp'])('leaves event streams of %s to others', async (path) => {
    await using gateway = await stage.gateway({
      ...rates,
      GATEWAY_STREAMS_MAX: '64',
    });
    stage.neighbours.notifier.feedPosition = async () => ({ position: 1 });
    const token = stage.tokenFor(claims);
    const taken = await hang(gateway.url, token, { path });
    await vi.waitFor(() => {
      expect(taken.statuses).toHaveLength(80);
      isHanging(taken);
    }, 10_000);
    expect(taken.refusals.every(({ status }) => status === 429)).toBe(true);
    for (const [name, other] of others) {
      const one = await hang(gateway.url, stage.tokenFor(other), { path });
      await vi.waitFor(() => expect(one.statuses, name).toContain(200), 10_000);
      one.end();
    }
    taken.end();
  });
});

describe('connections of one address', () => {
  const request = (port: string) => `GET /health/live HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;
  const open = async (url: string): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  };
  const answerOf = async (url: string, socket: Socket): Promise<string> => {
    socket.write(request(new URL(url).port));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString();
  };

  test('are limited, whatever is sent on them, and are free again when closed', async () => {
    await using gateway = await stage.gateway({ CONNECTIONS_PER_ADDRESS_MAX: '5' });
    const { url } = gateway;
    const sockets: Socket[] = [];
    for (let n = 0; n < 5; n += 1) {
      const socket = await open(url);
      // An answer tells that the server has counted it.
      expect(await answerOf(url, socket)).toContain('200 OK');
      sockets.push(socket);
    }
    const refused = await open(url);
    const [answer] = (await once(refused, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 429 .*"error":"rate_limited"/s);
    if (!refused.closed) await once(refused, 'close');

    sockets[0]?.destroy();
    await vi.waitFor(async () => {
      const socket = await open(url);
      expect(await answerOf(url, socket)).toContain('200 OK');
      sockets.push(socket);
    }, 10_000);
    for (const socket of sockets) socket.destroy();
  });

  test.for(['127.0.0.1', 'loopback', '10.0.0.0/8,127.0.0.0/8'])(
    'are not when they come from a trusted proxy (%s)',
    async (proxies) => {
      await using gateway = await stage.gateway({
        CONNECTIONS_PER_ADDRESS_MAX: '2',
        TRUSTED_PROXIES: proxies,
      });
      const sockets = await Promise.all(Array.from({ length: 6 }, () => open(gateway.url)));
      for (const socket of sockets) {
        expect(await answerOf(gateway.url, socket)).toContain('200 OK');
        socket.destroy();
      }
    },
  );
});

describe('a client that goes before its call was answered', () => {
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
  const call = async (url: string, signal: AbortSignal) => {
    const body = JSON.stringify({ service: 'github', action: 'get', params: {} });
    const headers = {
      authorization: `Bearer ${stage.tokenFor()}`,
      'content-type': 'application/json',
    };
    await fetch(new URL('/v1/actions/call', url), { method: 'POST', headers, body, signal });
  };
  const hearGone = () => {
    const heard: unknown[] = [];
    const subscription = stage.buses.executor.nats.subscribe(clientGoneSubject, {
      callback: (_failure, message) => void heard.push(message.json()),
    });
    return { heard, [Symbol.dispose]: () => subscription.unsubscribe() };
  };

  test('is told of to the executors when it was a read', async () => {
    await using gateway = await stage.gateway();
    using news = hearGone();
    const { promise: answered, reject: fail } = Promise.withResolvers<never>();
    const client = new AbortController();
    stage.neighbours.policy.decide = async () => read;
    stage.neighbours.executor.execute = () => {
      client.abort();
      return answered;
    };
    await expect(call(gateway.url, client.signal)).rejects.toThrow();

    await expect.poll(() => news.heard, { timeout: 10_000 }).toEqual([{ auditId }]);
    fail(new AppError('upstream_timeout', 'It was cancelled.', { details: { audit_id: auditId } }));
  });

  test('has no read sent that was being decided', async () => {
    const client = new AbortController();
    const executed: unknown[] = [];
    {
      await using gateway = await stage.gateway();
      stage.neighbours.policy.decide = async () => {
        client.abort();
        // The gateway has read the end of the connection before what comes on a later one.
        expect((await ask(gateway.url, '/health/live')).status).toBe(200);
        return read;
      };
      stage.neighbours.executor.execute = async (request) => {
        executed.push(request);
        throw new AppError('upstream_timeout', 'x', { details: { audit_id: auditId } });
      };
      await expect(call(gateway.url, client.signal)).rejects.toThrow();
      // Stopping finishes what is under way.
    }
    expect(executed).toEqual([]);
  });
});
