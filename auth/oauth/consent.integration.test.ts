import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { cliClientId, cliRedirectUri } from '#contracts/oauth';
import { createCallerWithKey } from '../../test/support/http.ts';
import { openBrowser } from '../../test/support/oauth-browser.ts';
import {
  createAuthorizationRequest,
  redirectUri,
  startOauthWorld,
} from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../../test/support/oauth-world.ts';

let world: OauthWorld;
beforeAll(async () => {
  world = await startOauthWorld({ authReplicas: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());

const authorizationUrlOf = (clientId: string, parameters: Record<string, string> = {}) =>
  createAuthorizationRequest(world.url, { client_id: clientId, ...parameters }).url;

async function createAgentOf(person: SignedIn, name: string): Promise<string> {
  return (await person.post('/v1/identities/agents', { name })).body.id;
}
const agentsOf = async (person: SignedIn) =>
  (await person.get('/v1/identities')).body.items
    .filter(({ kind }: { kind: string }) => kind === 'agent')
    .map(({ name }: { name: string }) => name);

describe('an authorization request without a session', () => {
  test('is redirected to the sign-in page, which then returns to the authorization request', async () => {
    const clientId = await world.register();
    const page = await fetch(authorizationUrlOf(clientId), { redirect: 'manual' });

    expect(page.status).toBe(303);
    const to = new URL(page.headers.get('location') ?? '', world.url);
    expect(to.pathname).toBe('/sign-in');
    const returnUrl = new URL(to.searchParams.get('return_to') ?? '', world.url);
    expect(returnUrl.origin + returnUrl.pathname).toBe(`${world.url}/oauth/authorize`);
    expect(returnUrl.searchParams.get('client_id')).toBe(clientId);
    expect(returnUrl.searchParams.get('state')).toBe('client-state');
    expect(await world.db`select from auth.oauth_interaction`).toHaveLength(0);
  });

  test('is not redirected, with prompt=none, to a client that no user has authorized', async () => {
    const uris = ['https://phish.example/cb', 'com.example.app:/cb', redirectUri];
    for (const uri of uris) {
      const clientId = await world.register({ redirect_uris: [uri] });
      const url = authorizationUrlOf(clientId, { prompt: 'none', redirect_uri: uri });
      const page = await fetch(url, { redirect: 'manual' });
      expect([page.status, page.headers.get('location')], uri).toEqual([400, null]);
      expect(await page.text(), uri).toContain('This link does not work');
    }
  });

  test('is redirected, with prompt=none, to a client that a user has authorized, with the error login_required', async () => {
    const clientId = await world.register();
    await world.signInClient(await world.person(), { clientId });
    const page = await fetch(authorizationUrlOf(clientId, { prompt: 'none' }), {
      redirect: 'manual',
    });
    const to = new URL(page.headers.get('location') ?? '');
    expect(to.origin + to.pathname).toBe(redirectUri);
    expect(to.searchParams.get('error')).toBe('login_required');
    expect(to.searchParams.get('iss')).toBe(world.url);
  });

  test('is redirected to the sign-in page when the session has ended', async () => {
    const person = await world.person();
    await person.post('/v1/sign-out');
    const url = authorizationUrlOf(await world.register());
    // On every replica, a revocation takes effect within a second.
    await expect
      .poll(async () => {
        const headers = { cookie: `gateway_session=${person.sessionToken}` };
        return (await fetch(url, { redirect: 'manual', headers })).headers.get('location');
      })
      .toMatch(/^\/sign-in\?/);
  });
});

describe('the consent screen', () => {
  test('shows the client, the scopes and the redirect target, and allows no script and no frame', async () => {
    const person = await world.person({ name: 'ann' });
    await createAgentOf(person, 'deploy-bot');
    const clientId = await world.register({
      client_name: '<b>Evil</b> & Sons',
      redirect_uris: ['https://evil.example/cb'],
    });
    const page = await person.browser.open(
      authorizationUrlOf(clientId, { redirect_uri: 'https://evil.example/cb' }),
    );

    expect(page.status).toBe(200);
    expect(page.html).toContain('&lt;b&gt;Evil&lt;/b&gt; &amp; Sons');
    expect(page.html).not.toContain('<b>Evil');
    for (const shown of ['evil.example', 'ann', 'deploy-bot', 'value="b-evil-b-sons"']) {
      expect(page.html).toContain(shown);
    }
    expect(page.html).not.toMatch(/<script|onclick|javascript:/i);
    const securityPolicy = page.headers.get('content-security-policy') ?? '';
    expect(securityPolicy).toContain("default-src 'none'");
    expect(securityPolicy).toContain("frame-ancestors 'none'");
    expect(securityPolicy).toContain("form-action 'self' https://evil.example;");
    expect(page.headers.get('set-cookie')).toBeNull();
    expect(page.headers.get('cache-control')).toBe('no-store');
  });

  test('is shown only once to a user: later authorizations of the client use the same agent', async () => {
    const person = await world.person();
    const clientId = await world.register();
    const first = await world.signInClient(person, { clientId, name: 'chosen' });
    const secondPage = await person.browser.open(authorizationUrlOf(clientId));
    const second = await world.signInClient(person, { clientId });

    expect(secondPage.leavesTo?.searchParams.get('code')).toBeTruthy();
    for (const { access_token: token } of [first, second]) {
      const me = await createCallerWithKey(world.url, token).get('/v1/identities/me');
      expect(me.body.name).toBe('chosen');
    }
    expect(await agentsOf(person)).toEqual(['chosen']);
  });

  test('is never skipped for another client or another user', async () => {
    const [ann, bob] = [await world.person(), await world.person()];
    const clientId = await world.register();
    await world.signInClient(ann, { clientId });

    expect(
      (await ann.browser.open(authorizationUrlOf(await world.register()))).leavesTo,
    ).toBeNull();
    expect((await bob.browser.open(authorizationUrlOf(clientId))).leavesTo).toBeNull();
  });

  test('is shown again for more scopes than the user agreed to, but not for fewer scopes', async () => {
    const person = await world.person();
    const clientId = await world.register();
    await world.signInClient(person, { clientId, scope: 'actions:call' });

    const pageOfFewerScopes = await person.browser.open(
      authorizationUrlOf(clientId, { scope: 'actions:read' }),
    );
    const pageOfMoreScopes = await person.browser.open(
      authorizationUrlOf(clientId, { scope: 'mcp' }),
    );
    expect(pageOfFewerScopes.leavesTo?.searchParams.get('code')).toBeTruthy();
    expect(pageOfMoreScopes.leavesTo).toBeNull();
  });

  test('is shown again when the prompt asks for it, and when the agent was archived or revoked', async () => {
    const person = await world.person();
    const clientId = await world.register();
    await world.signInClient(person, { clientId, name: 'gone' });
    for (const prompt of ['consent', 'login', 'select_account']) {
      expect(
        (await person.browser.open(authorizationUrlOf(clientId, { prompt }))).leavesTo,
        prompt,
      ).toBeNull();
    }
    const silentPage = await person.browser.open(authorizationUrlOf(clientId, { prompt: 'none' }));
    expect(silentPage.leavesTo?.searchParams.get('code')).toBeTruthy();

    for (const status of ['archived', 'revoked']) {
      await world.db`update auth.identity set status = ${status} where name = 'gone'`;
      const page = await person.browser.open(authorizationUrlOf(clientId));
      expect(page.leavesTo, status).toBeNull();
      const promptNonePage = await person.browser.open(
        authorizationUrlOf(clientId, { prompt: 'none' }),
      );
      expect(promptNonePage.leavesTo?.searchParams.get('error'), status).toBe('consent_required');
    }
  });

  test('suggests an agent name that is not taken, and explains why another name is refused', async () => {
    const person = await world.person();
    await createAgentOf(person, 'test-client');
    const page = await person.browser.open(authorizationUrlOf(await world.register()));
    expect(page.html).toContain('value="test-client-2"');

    const takenAnswer = await person.browser.press(page, 'allow', {
      agent: 'new',
      name: 'test-client',
    });
    expect(takenAnswer.status).toBe(400);
    expect(takenAnswer.html).toContain('already have an agent named test-client');
    const wrongNameAnswer = await person.browser.press(takenAnswer, 'allow', {
      agent: 'new',
      name: 'Not valid',
    });
    expect(wrongNameAnswer.status).toBe(400);
    expect(wrongNameAnswer.html).toContain('role="alert"');
    const rightNameAnswer = await person.browser.press(wrongNameAnswer, 'allow', {
      agent: 'new',
      name: 'valid',
    });
    expect(rightNameAnswer.leavesTo?.searchParams.get('code')).toBeTruthy();
  });

  test('binds a client only to an active agent of the user', async () => {
    const [ann, bob] = [await world.person(), await world.person()];
    const ownAgent = await createAgentOf(ann, 'own');
    const sub = (await ann.post('/v1/identities/subagents', { name: 'sub', parent_id: ownAgent }))
      .body;
    const othersAgent = await createAgentOf(bob, 'others');
    const archivedAgent = await createAgentOf(ann, 'archived');
    await world.db`update auth.identity set status = 'archived' where id = ${archivedAgent}`;
    const clientId = await world.register();

    for (const agent of [
      othersAgent,
      sub.id,
      ann.id,
      archivedAgent,
      'x',
      '',
      world.environment.adminUrl,
    ]) {
      const page = await ann.browser.open(authorizationUrlOf(clientId));
      const refusedAnswer = await ann.browser.press(page, 'allow', { agent });
      expect([refusedAnswer.status, refusedAnswer.leavesTo], agent).toEqual([400, null]);
    }
    expect(await world.db`select from auth.oauth_grant where client_id = ${clientId}`).toEqual([]);
    const answer = await ann.browser.authorize(authorizationUrlOf(clientId), { agent: ownAgent });
    expect(answer.searchParams.get('code')).toBeTruthy();
  });

  test('shows an error page after cancel if no user has authorized the client, and does not redirect', async () => {
    const person = await world.person();
    const clientId = await world.register();
    const consentScreen = await person.browser.open(authorizationUrlOf(clientId));
    const answer = await person.browser.press(consentScreen, 'cancel');

    expect([answer.status, answer.leavesTo]).toEqual([400, null]);
    expect(answer.html).toContain('Nothing was allowed');
    expect(await agentsOf(person)).toEqual([]);
  });

  test('redirects with access_denied after cancel if a user has authorized the client before', async () => {
    const person = await world.person();
    const clientId = await world.register();
    await world.signInClient(await world.person(), { clientId });
    const answer = await person.browser.authorize(authorizationUrlOf(clientId), {
      decision: 'cancel',
    });

    expect(answer.origin + answer.pathname).toBe(redirectUri);
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'client-state',
      iss: world.url,
    });
    expect(await agentsOf(person)).toEqual([]);
  });

  test('explains to an auditor why they cannot allow a client', async () => {
    const auditor = await world.person({ role: 'auditor' });
    const page = await auditor.browser.open(authorizationUrlOf(await world.register()));

    expect(page.html).toContain('As an auditor');
    expect(page.html).not.toContain('value="allow"');
    const form = { token: /name="token" value="([^"]*)"/.exec(page.html)?.[1] ?? '' };
    const forcedAnswer = await post(page.url, auditor, {
      ...form,
      decision: 'allow',
      agent: 'new',
      name: 'x',
    });
    expect(forcedAnswer.status).toBe(400);
    expect(await agentsOf(auditor)).toEqual([]);
  });
});

describe('a consent decision', () => {
  test('is accepted only once', async () => {
    const person = await world.person();
    const page = await person.browser.open(authorizationUrlOf(await world.register()));
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        person.browser.press(page, 'allow', { agent: 'new', name: `agent-${n}` }),
      ),
    );
    const codes = replies.filter(({ leavesTo }) => leavesTo?.searchParams.has('code'));
    expect(codes).toHaveLength(1);
    expect(await agentsOf(person)).toHaveLength(1);
    expect((await person.browser.press(page, 'cancel')).status).toBe(410);
  });

  test.for<[what: string, headers: Record<string, string>]>([
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    [
      'another subdomain of the same site',
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' },
    ],
    ['a page without an origin', { origin: 'null' }],
    ['a program that sends neither Origin nor Sec-Fetch-Site', {}],
  ])('is refused when it comes from %s', async ([, headers]) => {
    const person = await world.person();
    const page = await person.browser.open(authorizationUrlOf(await world.register()));
    const token = /name="token" value="([^"]*)"/.exec(page.html)?.[1] ?? '';
    const form = { token, decision: 'allow', agent: 'new', name: 'x' };
    const reply = await post(page.url, person, form, headers);

    expect(reply.status).toBe(403);
    expect(await agentsOf(person)).toEqual([]);
  });

  test('requires the form token of the same authorization and the same session', async () => {
    const [ann, bob] = [await world.person(), await world.person()];
    const page = await ann.browser.open(authorizationUrlOf(await world.register()));
    const other = await ann.browser.open(authorizationUrlOf(await world.register()));
    const tokenIn = (html: string) => /name="token" value="([^"]*)"/.exec(html)?.[1] ?? '';
    const form = { decision: 'allow', agent: 'new', name: 'x' };

    for (const token of ['', 'x', tokenIn(other.html)]) {
      expect((await post(page.url, ann, { ...form, token })).status).toBe(403);
    }
    const byBob = await post(page.url, bob, { ...form, token: tokenIn(page.html) });
    expect(byBob.status).toBe(410);
    expect((await post(page.url, null, { ...form, token: tokenIn(page.html) })).status).toBe(410);
    expect(await agentsOf(ann)).toEqual([]);
  });

  test('can be used only in the session that made it', async () => {
    const [ann, bob] = [await world.person(), await world.person()];
    const page = await ann.browser.open(authorizationUrlOf(await world.register()));
    const token = /name="token" value="([^"]*)"/.exec(page.html)?.[1] ?? '';
    const consentAnswer = await post(page.url, ann, {
      token,
      decision: 'allow',
      agent: 'new',
      name: 'x',
    });
    const lastUrl = new URL(consentAnswer.headers.get('location') ?? '', world.url);

    const byBob = await bob.browser.open(lastUrl.href);
    expect([byBob.status, byBob.leavesTo]).toEqual([400, null]);
    const anonymousPage = await openBrowser(world.url).open(lastUrl.href);
    expect([anonymousPage.status, anonymousPage.leavesTo]).toEqual([400, null]);
    const annsPage = await ann.browser.open(lastUrl.href);
    expect(annsPage.leavesTo?.searchParams.get('code')).toBeTruthy();
    expect((await ann.browser.open(lastUrl.href)).leavesTo).toBeNull();
  });
});

describe('the built-in OAuth client of the command line', () => {
  const cliAuthorizationUrl = (parameters: Record<string, string> = {}) =>
    createAuthorizationRequest(world.url, {
      client_id: cliClientId,
      redirect_uri: cliRedirectUri.replace('127.0.0.1', '127.0.0.1:40123'),
      ...parameters,
    });

  test('acts as the user, who must consent every time', async () => {
    const person = await world.person({ name: 'ann', role: 'admin' });
    for (let round = 0; round < 2; round += 1) {
      const { url, verifier } = cliAuthorizationUrl();
      const page = await person.browser.open(url);
      expect(page.leavesTo).toBeNull();
      expect(page.html).toContain('Sign “\u2068Action Gateway CLI\u2069” in as you?');
      const answer = (await person.browser.press(page, 'allow')).leavesTo;
      const tokens = await world.post('/oauth/token', {
        grant_type: 'authorization_code',
        client_id: cliClientId,
        redirect_uri: 'http://127.0.0.1:40123/callback',
        code: answer?.searchParams.get('code') ?? '',
        code_verifier: verifier,
      });
      const me = await createCallerWithKey(world.url, tokens.body.access_token).get(
        '/v1/identities/me',
      );
      expect(me.body).toMatchObject({
        id: person.id,
        kind: 'user',
        role: 'admin',
        scopes: ['user'],
      });
    }
    expect(await world.db`select from auth.oauth_binding where user_id = ${person.id}`).toEqual([]);
  });

  test('gets consent_required for prompt=none, and may request only the scope user', async () => {
    const person = await world.person();
    const promptNonePage = await person.browser.open(cliAuthorizationUrl({ prompt: 'none' }).url);
    expect(promptNonePage.leavesTo?.searchParams.get('error')).toBe('consent_required');
    const other = await person.browser.open(cliAuthorizationUrl({ scope: 'mcp' }).url);
    expect(other.leavesTo?.searchParams.get('error')).toBe('invalid_scope');
  });

  test('is the only client that may act as the user', async () => {
    const person = await world.person();
    const clientId = await world.register({ client_name: 'Action Gateway CLI' });
    await world.signInClient(person, { clientId });
    for (const scope of ['user', 'mcp user']) {
      const page = await person.browser.open(authorizationUrlOf(clientId, { scope }));
      expect(page.leavesTo?.searchParams.get('error')).toBe('invalid_scope');
    }
  });
});

async function post(
  url: URL,
  person: SignedIn | null,
  form: Record<string, string>,
  headers: Record<string, string> = { origin: world.url },
) {
  return fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      ...headers,
      ...(person === null ? {} : { cookie: `gateway_session=${person.sessionToken}` }),
    },
    body: new URLSearchParams(form),
  });
}
