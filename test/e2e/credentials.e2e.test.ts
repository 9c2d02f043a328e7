import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { httpRoutes } from '#contracts/all';
import type { Access, RouteSpec } from '#contracts/http/define';
import { authorization } from '../support/oauth-world.ts';
import {
  authorizeClient,
  redeem,
  registerClient,
  signInAsUser,
  signInClient,
} from './support/clients.ts';
import { checkedToken } from './support/people.ts';
import { createAgent, created, startWorld } from './support/world.ts';
import type { World } from './support/world.ts';

/**
 * Tries every kind of credential at every endpoint (docs/reference/security.md#credentials). Bodies
 * are empty and ids belong to nobody, so a caller that is let in gets a 400 or a 404 and changes
 * nothing.
 */
interface Credential {
  readonly what: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What it opens in REST. */
  readonly opens: readonly Access[];
  readonly isForMcp?: boolean;
}

const ofAgents: readonly Access[] = ['any', 'actions:read', 'actions:call', 'approvals', 'agents'];
const everything: readonly Access[] = [...ofAgents, 'user'];
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const endSessions = new Set(['POST /v1/sign-out', 'DELETE /v1/sessions']);
const routes: readonly RouteSpec[] = Object.values(httpRoutes);

describe('every credential opens what it is for, and nothing else', () => {
  let world: World;
  let credentials: Credential[];
  const issued = new Map<string, string>();

  beforeAll(async () => {
    world = await startWorld();
    const { url, admin } = world;
    const agent = await createAgent(url, admin, 'bot');
    const revoked = await createAgent(url, admin, 'gone');
    created(await admin.post(`/v1/identities/${revoked.id}/revoke`));
    const client = await signInClient(world, agent);
    const reader = await registerClient(world);
    const read = await redeem(
      world,
      reader,
      await authorizeClient(world, { client_id: reader, scope: 'actions:read' }),
    );
    const asUser = await signInAsUser(world);
    const { code } = await authorizeClient(world, { client_id: client.id });
    const [cookieName = '', session = ''] = admin.cookie.split('=');
    const link = checkedToken('sil_');
    issued
      .set('agent key', agent.key)
      .set('key of a revoked agent', revoked.key)
      .set('access token', client.token)
      .set('reading access token', read.token)
      .set("user's access token", asUser.token)
      .set('refresh token', client.refreshToken)
      .set('code', code)
      .set('session', session);

    const opening: Credential[] = [
      { what: 'a session', headers: { cookie: admin.cookie, origin: url }, opens: everything },
      { what: 'an agent key', headers: bearer(agent.key), opens: ofAgents, isForMcp: true },
      { what: 'an access token', headers: bearer(client.token), opens: ofAgents, isForMcp: true },
      {
        what: 'an access token to read',
        headers: bearer(read.token),
        opens: ['any', 'actions:read'],
        isForMcp: true,
      },
      {
        what: "a user's access token",
        headers: bearer(asUser.token),
        opens: everything,
        isForMcp: true,
      },
    ];
    const closed: Record<string, Record<string, string>> = {
      nothing: {},
      'a session from another site': { cookie: `x${cookieName}=${session}` },
      'a session as a bearer': bearer(session),
      'a session as a bearer, beside the cookie': { ...bearer(session), cookie: admin.cookie },
      'the key of a revoked agent': bearer(revoked.key),
      'a refresh token': bearer(client.refreshToken),
      'a code': bearer(code),
      "a client's id": bearer(client.id),
      'a sign-in link': bearer(link),
      'an access token as a cookie': { cookie: `${cookieName}=${client.token}`, origin: url },
      'a refresh token as a cookie': {
        cookie: `${cookieName}=${client.refreshToken}`,
        origin: url,
      },
      'an agent key as a cookie': { cookie: `${cookieName}=${agent.key}`, origin: url },
      'an access token as a password': {
        authorization: `Basic ${Buffer.from(`${client.id}:${client.token}`).toString('base64')}`,
      },
    };
    credentials = [
      ...opening,
      ...Object.entries(closed).map(([what, headers]) => ({ what, headers, opens: [] })),
    ];
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /** `none`: not let in; `less`: known, and not for this. */
  async function verdict(
    { method, path }: { method: string; path: string },
    headers: Readonly<Record<string, string>>,
  ): Promise<'in' | 'less' | 'none'> {
    const end = new AbortController();
    const reply = await fetch(`${world.url}${path.replaceAll(/\{\w+\}/g, () => randomUUID())}`, {
      method,
      redirect: 'manual',
      signal: end.signal,
      headers: { ...headers, ...(method !== 'GET' && { 'content-type': 'application/json' }) },
      ...(method !== 'GET' && { body: '{}' }),
    });
    // A stream of events would go on for ever.
    const text = reply.headers.get('content-type')?.includes('event-stream')
      ? ''
      : await reply.text();
    end.abort();
    for (const [what, secret] of issued) {
      expect(text.includes(secret), `${what} in the answer of ${path}`).toBe(false);
    }
    if (reply.status === 401) return 'none';
    return reply.status === 403 && text.includes('insufficient_scope') ? 'less' : 'in';
  }

  test.for(
    routes
      // They would end the session of all that follows; they have tests of their own.
      .filter((route) => !endSessions.has(`${route.method} ${route.path}`))
      .map((route) => [`${route.method} ${route.path}`, route] as const),
  )('%s', async ([, route]) => {
    const verdicts: Record<string, string> = {};
    const expected: Record<string, string> = {};
    for (const { what, headers, opens } of credentials) {
      verdicts[what] = await verdict(route, headers);
      const isOpen = route.access === 'public' || opens.includes(route.access);
      expected[what] = isOpen ? 'in' : opens.length > 0 ? 'less' : 'none';
    }
    expect(verdicts).toEqual(expected);
  });

  test.for(['GET', 'POST'])('%s /mcp', async (method) => {
    for (const { what, headers, isForMcp } of credentials) {
      const { status } = await fetch(`${world.url}/mcp`, {
        method,
        headers: {
          ...headers,
          accept: 'application/json, text/event-stream',
          ...(method === 'POST' && { 'content-type': 'application/json' }),
        },
        ...(method === 'POST' && { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' }),
      }).then(async (reply) => {
        await reply.body?.cancel();
        return reply;
      });
      expect(status === 401 ? 'none' : 'in', what).toBe(isForMcp === true ? 'in' : 'none');
    }
  });

  test('GET /oauth/authorize', async () => {
    const { url } = authorization(world.url, { client_id: await registerClient(world) });
    for (const { what, headers } of credentials) {
      const reply = await fetch(url, { headers: { ...headers }, redirect: 'manual' });
      const target = reply.headers.get('location') ?? '';
      const isKnown = headers['cookie'] === world.admin.cookie;
      expect(target.startsWith('/sign-in?'), what).toBe(!isKnown);
    }
  });

  test('POST /oauth/token', async () => {
    const { id } = await signInClient(world, await createAgent(world.url, world.admin, 'other'));
    for (const [what, credential] of issued) {
      for (const form of [
        { grant_type: 'refresh_token', refresh_token: credential },
        { grant_type: 'authorization_code', code: credential, code_verifier: 'v'.repeat(43) },
        { grant_type: 'client_credentials', client_secret: credential },
        { grant_type: 'password', username: 'admin', password: credential },
      ]) {
        const reply = await fetch(`${world.url}/oauth/token`, {
          method: 'POST',
          body: new URLSearchParams({ ...(form as object), client_id: id }),
        });
        expect(reply.status, `${what} for ${form.grant_type}`).toBeGreaterThanOrEqual(400);
        expect(await reply.text()).not.toContain('access_token');
      }
    }
  });

  test('none of them in the address of a request', async () => {
    for (const [what, credential] of issued) {
      const reply = await fetch(`${world.url}/v1/identities/me?access_token=${credential}`);
      expect([400, 401], what).toContain(reply.status);
    }
  });

  test('no upstream is shown one', async () => {
    const { admin, upstream } = world;
    const secret = { name: 'github_token', value: 'CANARY-upstream', tier: 'org' };
    created(await admin.post('/v1/secrets', { ...secret, allowed_hosts: [upstream.host] }));
    created(
      await admin.post('/v1/services', { template: 'github', base_url: upstream.url, tier: 'org' }),
    );
    const call = { service: 'github', action: 'list_issues', params: { repository: 'a/b' } };
    for (const { headers, opens } of credentials.filter(({ opens }) => opens.length > 1)) {
      const reply = await fetch(`${world.url}/v1/actions/call`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(call),
      });
      expect(reply.status, String(opens)).toBeLessThan(404);
    }
    expect(upstream.hits.length).toBeGreaterThan(0);
    const shown = JSON.stringify(upstream.hits);
    for (const [what, credential] of issued) expect(shown.includes(credential), what).toBe(false);
  });
});
