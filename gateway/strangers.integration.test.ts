import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ask, createStage } from './neighbours.testing.ts';
import type { Stage } from './neighbours.testing.ts';
import { postMcp, callTool } from './mcp/clients.testing.ts';
import { agent, user } from './principals.testing.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await createStage();
  stage.neighbours.auth.listSignInOptions = async () => ({ needsOrg: false, providers: [] });
  stage.neighbours.auth.listIdentities = async () => ({ items: [], next_cursor: null });
});
afterAll(() => stage[Symbol.asyncDispose]());

async function load(url: string, path: string, headers: Record<string, string> = {}) {
  return await fetch(new URL(path, url), { redirect: 'manual', headers });
}

describe('pages that need no credential', () => {
  const flow = '01890000-0000-7000-8000-000000000001';

  test.for([
    '/sign-in',
    '/sign-in?token=abc',
    '/sign-in/password',
    `/connect/${flow}`,
    `/connect/repair/${flow}`,
    '/v1/connections/callback/github?state=s',
  ])('%s is shown only so often to one address', async (path) => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '3' });
    const statuses: number[] = [];
    for (let time = 0; time < 4; time += 1) statuses.push((await load(gateway.url, path)).status);

    expect(statuses.slice(0, 3)).not.toContain(429);
    expect(statuses[3]).toBe(429);
    const { headers } = await load(gateway.url, path);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('count all addresses of an IPv6 network as one', async () => {
    const settings = { RATE_PUBLIC_PER_MINUTE: '2', TRUSTED_PROXIES: '127.0.0.0/8' };
    await using gateway = await stage.gateway(settings);
    const from = async (address: string) =>
      (await load(gateway.url, '/sign-in', { 'x-forwarded-for': address })).status;

    expect(await from('2001:db8:1:a::1')).toBe(200);
    expect(await from('2001:db8:1:a::2')).toBe(200);
    expect(await from('2001:db8:1:a::3')).toBe(429);
    expect(await from('2001:db8:1:b::1')).toBe(200);
  });
});

describe('credentials that are not valid', () => {
  const attempts: [string, (url: string, token: string) => Promise<{ status: number }>][] = [
    ['as a bearer', (url, token) => ask(url, '/v1/identities', { token })],
    [
      'as a cookie',
      (url, token) => load(url, '/v1/identities', { cookie: `gateway_session=${token}` }),
    ],
    ['at events', (url, token) => ask(url, '/v1/events', { token })],
    ['at MCP', (url, token) => postMcp(url, token, { body: callTool('service_search', {}) })],
  ];

  test.for(attempts)('%s are looked up only so often for one address', async ([, attempt]) => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '3' });
    const before = stage.lookUps.count;
    const statuses: number[] = [];
    for (let time = 0; time < 6; time += 1) {
      statuses.push((await attempt(gateway.url, `wrong-${time}`)).status);
    }

    expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
    expect(stage.lookUps.count - before).toBe(3);
  });

  test('are looked up only so often when they come all at once', async () => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '3' });
    const before = stage.lookUps.count;
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        ask(gateway.url, '/v1/identities', { token: `wrong-${at}` }),
      ),
    );

    expect(replies.filter(({ status }) => status === 401)).toHaveLength(3);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(17);
    expect(stage.lookUps.count - before).toBe(3);
  });

  test('of one address cost no other address anything', async () => {
    const settings = { RATE_PUBLIC_PER_MINUTE: '1', TRUSTED_PROXIES: '127.0.0.0/8' };
    await using gateway = await stage.gateway(settings);
    const from = async (address: string, token: string) =>
      (await ask(gateway.url, '/v1/identities', { token, headers: { 'x-forwarded-for': address } }))
        .status;

    expect(await from('192.0.2.1', 'wrong-1')).toBe(401);
    expect(await from('192.0.2.1', 'wrong-2')).toBe(429);
    expect(await from('192.0.2.2', 'wrong-3')).toBe(401);
    expect(await from('192.0.2.1', stage.tokenFor(agent()))).toBe(429);
    expect(await from('192.0.2.3', stage.tokenFor(agent()))).toBe(200);
  });
});

describe('a valid credential', () => {
  test('never pays for an address', async () => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '1' });
    for (let time = 0; time < 5; time += 1) {
      const token = stage.tokenFor(agent());
      expect((await ask(gateway.url, '/v1/identities', { token })).status).toBe(200);
    }
    const cookie = `gateway_session=${stage.tokenFor(user())}`;
    expect((await load(gateway.url, '/v1/identities', { cookie })).status).toBe(200);
    expect((await ask(gateway.url, '/v1/identities', { token: 'wrong' })).status).toBe(401);
  });

  test('that was used before works on while its address floods', async () => {
    await using gateway = await stage.gateway({ RATE_PUBLIC_PER_MINUTE: '1' });
    const token = stage.tokenFor(agent());
    const use = async () => (await ask(gateway.url, '/v1/identities', { token })).status;
    expect(await use()).toBe(200);
    expect((await ask(gateway.url, '/v1/identities', { token: 'wrong-1' })).status).toBe(401);
    expect((await ask(gateway.url, '/v1/identities', { token: 'wrong-2' })).status).toBe(429);
    // Longer than an answer of auth is kept.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await use()).toBe(200);

    // Until it is revoked: then it is a wrong one as any other.
    stage.accounts.delete(token);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect(await use()).toBe(401);
    expect(await use()).toBe(429);
  });
});

describe('params as JSON text', () => {
  const params = JSON.stringify({ list: Array.from({ length: 15_000 }, () => 0) });
  const call = { service: 'github', action: 'list_issues', params };
  // Seven for its values and one for itself; by its bytes alone it would be one.
  const settings = { RATE_IDENTITY_PER_MINUTE: '12' };

  test.for(['/v1/actions/call', '/v1/actions/validate'])(
    'cost what they hold at %s',
    async (path) => {
      await using gateway = await stage.gateway(settings);
      const token = stage.tokenFor(agent());
      let decided = 0;
      const decide = async () => {
        decided += 1;
        throw new Error('on stage is nobody');
      };
      Object.assign(stage.neighbours.policy, { decide, explain: decide });
      const post = () => ask(gateway.url, path, { token, body: JSON.stringify(call) });

      expect((await post()).status).not.toBe(429);
      expect(await post()).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
      expect(decided).toBe(1);
    },
  );

  test('cost what they hold over MCP', async () => {
    await using gateway = await stage.gateway(settings);
    const token = stage.tokenFor(agent());
    const post = () => postMcp(gateway.url, token, { body: callTool('service_call', call) });

    await post();
    expect(JSON.stringify((await post()).body)).toContain('rate_limited');
  });
});
