import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { httpRoutes } from '#contracts/all';
import type { Access, RouteSpec } from '#contracts/http/define';
import { createAuthorizationRequest } from '../support/oauth-world.ts';
import {
  authorizeClient,
  redeemCode,
  registerClient,
  signInAsUser,
  signInClient,
} from '../support/clients.ts';
import { createCheckedToken } from '../support/people.ts';
import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

/**
 * Sends every kind of credential to every endpoint (docs/reference/security.md#credentials). Bodies
 * are empty and ids do not exist, so a request with a sufficient credential gets a 400 or a 404 and
 * changes nothing.
 */
interface Credential {
  readonly what: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The access classes of REST endpoints that accept this credential. */
  readonly opens: readonly Access[];
  readonly isForMcp?: boolean;
}

const agentAccesses: readonly Access[] = [
  'any',
  'actions:read',
  'actions:call',
  'approvals',
  'agents',
];
const allAccesses: readonly Access[] = [...agentAccesses, 'user'];
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const endSessions = new Set(['POST /v1/sign-out', 'DELETE /v1/sessions']);
const routes: readonly RouteSpec[] = Object.values(httpRoutes);

describe('each credential gives access only to the routes for its kind', () => {
  let world: World;
  let credentials: Credential[];
  const issued = new Map<string, string>();

  beforeAll(async () => {
    world = await startWorld();
    const { url, admin } = world;
    const agent = await createAgent(url, admin, 'bot');
    const revokedAgent = await createAgent(url, admin, 'gone');
    successfulBodyOf(await admin.post(`/v1/identities/${revokedAgent.id}/revoke`));
    const client = await signInClient(world, agent);
    const readerClientId = await registerClient(world);
    const readerTokens = await redeemCode(
      world,
      readerClientId,
      await authorizeClient(world, { client_id: readerClientId, scope: 'actions:read' }),
    );
    const userTokens = await signInAsUser(world);
    const { code } = await authorizeClient(world, { client_id: client.id });
    const [cookieName = '', session = ''] = admin.cookie.split('=');
    const signInToken = createCheckedToken('sil_');
    issued
      .set('agent key', agent.key)
      .set('key of a revoked agent', revokedAgent.key)
      .set('access token', client.token)
      .set('reading access token', readerTokens.token)
      .set("user's access token", userTokens.token)
      .set('refresh token', client.refreshToken)
      .set('code', code)
      .set('session', session);

    const acceptedCredentials: Credential[] = [
      { what: 'a session', headers: { cookie: admin.cookie, origin: url }, opens: allAccesses },
      { what: 'an agent key', headers: bearer(agent.key), opens: agentAccesses, isForMcp: true },
      {
        what: 'an access token',
        headers: bearer(client.token),
        opens: agentAccesses,
        isForMcp: true,
      },
      {
        what: 'an access token with a read-only scope',
        headers: bearer(readerTokens.token),
        opens: ['any', 'actions:read'],
        isForMcp: true,
      },
      {
        what: "a user's access token",
        headers: bearer(userTokens.token),
        opens: allAccesses,
        isForMcp: true,
      },
    ];
    const refusedCredentials: Record<string, Record<string, string>> = {
      nothing: {},
      'a session from another site': { cookie: `x${cookieName}=${session}` },
      'a session as a bearer': bearer(session),
      'a session as a bearer, beside the cookie': { ...bearer(session), cookie: admin.cookie },
      'the key of a revoked agent': bearer(revokedAgent.key),
      'a refresh token': bearer(client.refreshToken),
      'a code': bearer(code),
      "a client's id": bearer(client.id),
      'a sign-in link': bearer(signInToken),
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
      ...acceptedCredentials,
      ...Object.entries(refusedCredentials).map(([what, headers]) => ({
        what,
        headers,
        opens: [],
      })),
    ];
  });
  afterAll(() => world[Symbol.asyncDispose]());

  /**
   * Tells how the endpoint treats the credential: `in` means accepted, `less` means valid but
   * without the needed scope, and `none` means not accepted.
   */
  async function judgeCredential(
    { method, path }: { method: string; path: string },
    headers: Readonly<Record<string, string>>,
  ): Promise<'in' | 'less' | 'none'> {
    const abortController = new AbortController();
    const reply = await fetch(`${world.url}${path.replaceAll(/\{\w+\}/g, () => randomUUID())}`, {
      method,
      redirect: 'manual',
      signal: abortController.signal,
      headers: { ...headers, ...(method !== 'GET' && { 'content-type': 'application/json' }) },
      ...(method !== 'GET' && { body: '{}' }),
    });
    // The test does not read the body of an event stream, because it never ends.
    const text = reply.headers.get('content-type')?.includes('event-stream')
      ? ''
      : await reply.text();
    abortController.abort();
    for (const [what, secret] of issued) {
      expect(text.includes(secret), `${what} in the answer of ${path}`).toBe(false);
    }
    if (reply.status === 401) return 'none';
    return reply.status === 403 && text.includes('insufficient_scope') ? 'less' : 'in';
  }

  test.for(
    routes
      // These routes would end the session that the other cases use, so other tests cover them.
      .filter((route) => !endSessions.has(`${route.method} ${route.path}`))
      .map((route) => [`${route.method} ${route.path}`, route] as const),
  )('%s accepts exactly the credentials of its access class', async ([, route]) => {
    const verdicts: Record<string, string> = {};
    const expected: Record<string, string> = {};
    for (const { what, headers, opens } of credentials) {
      verdicts[what] = await judgeCredential(route, headers);
      const isOpen = route.access === 'public' || opens.includes(route.access);
      expected[what] = isOpen ? 'in' : opens.length > 0 ? 'less' : 'none';
    }
    expect(verdicts).toEqual(expected);
  });

  test.for(['GET', 'POST'])(
    '%s /mcp accepts only the credentials that MCP allows',
    async (method) => {
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
    },
  );

  test('GET /oauth/authorize accepts only a session cookie', async () => {
    const { url } = createAuthorizationRequest(world.url, {
      client_id: await registerClient(world),
    });
    for (const { what, headers } of credentials) {
      const reply = await fetch(url, { headers: { ...headers }, redirect: 'manual' });
      const redirectTarget = reply.headers.get('location') ?? '';
      const isAdminCookie = headers['cookie'] === world.admin.cookie;
      expect(redirectTarget.startsWith('/sign-in?'), what).toBe(!isAdminCookie);
    }
  });

  test('POST /oauth/token gives an OAuth client no access token for a credential of another client', async () => {
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

  test('no credential is accepted in a URL', async () => {
    for (const [what, credential] of issued) {
      const reply = await fetch(`${world.url}/v1/identities/me?access_token=${credential}`);
      expect([400, 401], what).toContain(reply.status);
    }
  });

  test('no credential reaches an upstream', async () => {
    const { admin, upstream } = world;
    const secret = { name: 'github_token', value: 'CANARY-upstream', tier: 'org' };
    successfulBodyOf(
      await admin.post('/v1/secrets', { ...secret, allowed_hosts: [upstream.host] }),
    );
    successfulBodyOf(
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
    const shownHits = JSON.stringify(upstream.hits);
    for (const [what, credential] of issued)
      expect(shownHits.includes(credential), what).toBe(false);
  });
});
