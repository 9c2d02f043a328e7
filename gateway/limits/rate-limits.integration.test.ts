import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { sendRequest, createStage } from '../neighbours.testing.ts';
import type { Stage } from '../neighbours.testing.ts';
import { postMcp, createToolCall } from '../mcp/clients.testing.ts';
import { createAgentPrincipal, createUserPrincipal } from '../principals.testing.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await createStage();
  stage.standIns.auth.listSignInOptions = async () => ({ needsOrg: false, providers: [] });
  stage.standIns.auth.listIdentities = async () => ({ items: [], next_cursor: null });
});
afterAll(() => stage[Symbol.asyncDispose]());

async function load(url: string, path: string, headers: Record<string, string> = {}) {
  return await fetch(new URL(path, url), { redirect: 'manual', headers });
}

describe('public pages', () => {
  const flow = '01890000-0000-7000-8000-000000000001';

  test.for([
    '/sign-in',
    '/sign-in?token=abc',
    '/sign-in/password',
    `/connect/${flow}`,
    `/connect/repair/${flow}`,
    '/v1/connections/callback/github?state=s',
  ])('requests to %s are limited per client address', async (path) => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '3' });
    const statuses: number[] = [];
    for (let round = 0; round < 4; round += 1)
      statuses.push((await load(gateway.url, path)).status);

    expect(statuses.slice(0, 3)).not.toContain(429);
    expect(statuses[3]).toBe(429);
    const { headers } = await load(gateway.url, path);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('all client addresses of one IPv6 network count as one address', async () => {
    const settings = { RATE_PUBLIC_PER_MINUTE: '2', TRUSTED_PROXIES: '127.0.0.0/8' };
    await using gateway = await stage.gateway(settings);
    const statusOfAddress = async (address: string) =>
      (await load(gateway.url, '/sign-in', { 'x-forwarded-for': address })).status;

    expect(await statusOfAddress('2001:db8:1:a::1')).toBe(200);
    expect(await statusOfAddress('2001:db8:1:a::2')).toBe(200);
    expect(await statusOfAddress('2001:db8:1:a::3')).toBe(429);
    expect(await statusOfAddress('2001:db8:1:b::1')).toBe(200);
  });
});

describe('invalid credentials', () => {
  const attempts: [string, (url: string, token: string) => Promise<{ status: number }>][] = [
    ['sent as bearer tokens', (url, token) => sendRequest(url, '/v1/identities', { token })],
    [
      'sent as cookies',
      (url, token) => load(url, '/v1/identities', { cookie: `gateway_session=${token}` }),
    ],
    ['sent to /v1/events', (url, token) => sendRequest(url, '/v1/events', { token })],
    [
      'sent to /mcp',
      (url, token) => postMcp(url, token, { body: createToolCall('service_search', {}) }),
    ],
  ];

  test.for(attempts)(
    '%s reach auth only at a limited rate per client address',
    async ([, attempt]) => {
      await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '3' });
      const lookUpsBefore = stage.lookUps.count;
      const statuses: number[] = [];
      for (let round = 0; round < 6; round += 1) {
        statuses.push((await attempt(gateway.url, `wrong-${round}`)).status);
      }

      expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
      expect(stage.lookUps.count - lookUpsBefore).toBe(3);
    },
  );

  test('do not exceed the limit on requests to auth when they are sent concurrently', async () => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '3' });
    const lookUpsBefore = stage.lookUps.count;
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        sendRequest(gateway.url, '/v1/identities', { token: `wrong-${at}` }),
      ),
    );

    expect(replies.filter(({ status }) => status === 401)).toHaveLength(3);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(17);
    expect(stage.lookUps.count - lookUpsBefore).toBe(3);
  });

  test('from one client address do not use up the limit of another', async () => {
    const settings = { RATE_PUBLIC_PER_MINUTE: '1', TRUSTED_PROXIES: '127.0.0.0/8' };
    await using gateway = await stage.gateway(settings);
    const statusOfAddress = async (address: string, token: string) =>
      (
        await sendRequest(gateway.url, '/v1/identities', {
          token,
          headers: { 'x-forwarded-for': address },
        })
      ).status;

    expect(await statusOfAddress('192.0.2.1', 'wrong-1')).toBe(401);
    expect(await statusOfAddress('192.0.2.1', 'wrong-2')).toBe(429);
    expect(await statusOfAddress('192.0.2.2', 'wrong-3')).toBe(401);
    expect(await statusOfAddress('192.0.2.1', stage.tokenFor(createAgentPrincipal()))).toBe(429);
    expect(await statusOfAddress('192.0.2.3', stage.tokenFor(createAgentPrincipal()))).toBe(200);
  });
});

describe('a valid credential', () => {
  test('does not count towards the limit of its client address', async () => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '1' });
    for (let round = 0; round < 5; round += 1) {
      const token = stage.tokenFor(createAgentPrincipal());
      expect((await sendRequest(gateway.url, '/v1/identities', { token })).status).toBe(200);
    }
    const cookie = `gateway_session=${stage.tokenFor(createUserPrincipal())}`;
    expect((await load(gateway.url, '/v1/identities', { cookie })).status).toBe(200);
    expect((await sendRequest(gateway.url, '/v1/identities', { token: 'wrong' })).status).toBe(401);
  });

  test('keeps working, if the gateway knows it already, while its address sends many invalid credentials', async () => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '1' });
    const token = stage.tokenFor(createAgentPrincipal());
    const statusOfRequest = async () =>
      (await sendRequest(gateway.url, '/v1/identities', { token })).status;
    expect(await statusOfRequest()).toBe(200);
    expect((await sendRequest(gateway.url, '/v1/identities', { token: 'wrong-1' })).status).toBe(
      401,
    );
    expect((await sendRequest(gateway.url, '/v1/identities', { token: 'wrong-2' })).status).toBe(
      429,
    );
    // During this pause the gateway's cache of the caller expires.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await statusOfRequest()).toBe(200);

    // A revoked token is treated like any other invalid one.
    stage.claimsByToken.delete(token);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await statusOfRequest()).toBe(401);
    expect(await statusOfRequest()).toBe(429);
  });
});

describe('params that are given as JSON text', () => {
  const params = JSON.stringify({ list: Array.from({ length: 15_000 }, () => 0) });
  const callBody = { service: 'github', action: 'list_issues', params };
  // The values in the text cost seven tokens and the request itself one. The bytes of the text cost
  // none.
  const settings = { RATE_IDENTITY_PER_MINUTE: '12' };

  test.for(['/v1/actions/call', '/v1/actions/validate'])(
    'are charged for each value in the text at %s',
    async (path) => {
      await using gateway = await stage.gateway(settings);
      const token = stage.tokenFor(createAgentPrincipal());
      let decidedCount = 0;
      const decide = async () => {
        decidedCount += 1;
        throw new Error('on stage is nobody');
      };
      Object.assign(stage.standIns.policy, { decide, explain: decide });
      const post = () => sendRequest(gateway.url, path, { token, body: JSON.stringify(callBody) });

      expect((await post()).status).not.toBe(429);
      expect(await post()).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
      expect(decidedCount).toBe(1);
    },
  );

  test('are charged for each value in the text also when they are sent over MCP', async () => {
    await using gateway = await stage.gateway(settings);
    const token = stage.tokenFor(createAgentPrincipal());
    const post = () =>
      postMcp(gateway.url, token, { body: createToolCall('service_call', callBody) });

    await post();
    expect(JSON.stringify((await post()).body)).toContain('rate_limited');
  });
});
