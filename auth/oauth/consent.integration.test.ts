import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { cliClientId, cliRedirectUri } from '#contracts/oauth';
import { withKey } from '../../test/support/http.ts';
import { openBrowser } from '../../test/support/oauth-browser.ts';
import { authorization, redirectUri, startOauthWorld } from '../../test/support/oauth-world.ts';
import type { OauthWorld, SignedIn } from '../../test/support/oauth-world.ts';

let world: OauthWorld;
beforeAll(async () => {
  world = await startOauthWorld({ authReplicas: 2 });
});
afterAll(() => world[Symbol.asyncDispose]());

const start = (clientId: string, parameters: Record<string, string> = {}) =>
  authorization(world.url, { client_id: clientId, ...parameters }).url;

async function agentOf(person: SignedIn, name: string): Promise<string> {
  return (await person.post('/v1/identities/agents', { name })).body.id;
}
const agentsOf = async (person: SignedIn) =>
  (await person.get('/v1/identities')).body.items
    .filter(({ kind }: { kind: string }) => kind === 'agent')
    .map(({ name }: { name: string }) => name);

describe('without a session', () => {
  test('a client is sent through sign-in, to where it began', async () => {
    const clientId = await world.register();
    const page = await fetch(start(clientId), { redirect: 'manual' });

    expect(page.status).toBe(303);
    const to = new URL(page.headers.get('location') ?? '', world.url);
    expect(to.pathname).toBe('/sign-in');
    const back = new URL(to.searchParams.get('return_to') ?? '', world.url);
    expect(back.origin + back.pathname).toBe(`${world.url}/oauth/authorize`);
    expect(back.searchParams.get('client_id')).toBe(clientId);
    expect(back.searchParams.get('state')).toBe('client-state');
    expect(await world.db`select from auth.oauth_interaction`).toHaveLength(0);
  });

  test('an application that no person has let in gets no redirect for prompt=none', async () => {
    const uris = ['https://phish.example/cb', 'com.example.app:/cb', redirectUri];
    for (const uri of uris) {
      const clientId = await world.register({ redirect_uris: [uri] });
      const url = start(clientId, { prompt: 'none', redirect_uri: uri });
      const page = await fetch(url, { redirect: 'manual' });
      expect([page.status, page.headers.get('location')], uri).toEqual([400, null]);
      expect(await page.text(), uri).toContain('This link does not work');
    }
  });

  test('prompt=none of a known application is answered login_required at its URI', async () => {
    const clientId = await world.register();
    await world.signInClient(await world.person(), { clientId });
    const page = await fetch(start(clientId, { prompt: 'none' }), { redirect: 'manual' });
    const to = new URL(page.headers.get('location') ?? '');
    expect(to.origin + to.pathname).toBe(redirectUri);
    expect(to.searchParams.get('error')).toBe('login_required');
    expect(to.searchParams.get('iss')).toBe(world.url);
  });

  test('a session that has ended is none', async () => {
    const person = await world.person();
    await person.post('/v1/sign-out');
    const url = start(await world.register());
    // Within a second on every replica.
    await expect
      .poll(async () => {
        const headers = { cookie: `gateway_session=${person.sessionToken}` };
        return (await fetch(url, { redirect: 'manual', headers })).headers.get('location');
      })
      .toMatch(/^\/sign-in\?/);
  });
});

describe('the consent screen', () => {
  test('says who asks, for what, and where the answer goes; without script or frames', async () => {
    const person = await world.person({ name: 'ann' });
    await agentOf(person, 'deploy-bot');
    const clientId = await world.register({
      client_name: '<b>Evil</b> & Sons',
      redirect_uris: ['https://evil.example/cb'],
    });
    const page = await person.browser.open(
      start(clientId, { redirect_uri: 'https://evil.example/cb' }),
    );

    expect(page.status).toBe(200);
    expect(page.html).toContain('&lt;b&gt;Evil&lt;/b&gt; &amp; Sons');
    expect(page.html).not.toContain('<b>Evil');
    for (const shown of ['evil.example', 'ann', 'deploy-bot', 'value="b-evil-b-sons"']) {
      expect(page.html).toContain(shown);
    }
    expect(page.html).not.toMatch(/<script|onclick|javascript:/i);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' https://evil.example;");
    expect(page.headers.get('set-cookie')).toBeNull();
    expect(page.headers.get('cache-control')).toBe('no-store');
  });

  test('is shown once: the binding is remembered, and tokens are of the same agent', async () => {
    const person = await world.person();
    const clientId = await world.register();
    const first = await world.signInClient(person, { clientId, name: 'chosen' });
    const again = await person.browser.open(start(clientId));
    const second = await world.signInClient(person, { clientId });

    expect(again.leavesTo?.searchParams.get('code')).toBeTruthy();
    for (const { access_token: token } of [first, second]) {
      const me = await withKey(world.url, token).get('/v1/identities/me');
      expect(me.body.name).toBe('chosen');
    }
    expect(await agentsOf(person)).toEqual(['chosen']);
  });

  test('is never skipped for another client or another user', async () => {
    const [ann, bob] = [await world.person(), await world.person()];
    const clientId = await world.register();
    await world.signInClient(ann, { clientId });

    expect((await ann.browser.open(start(await world.register()))).leavesTo).toBeNull();
    expect((await bob.browser.open(start(clientId))).leavesTo).toBeNull();
  });

  test('is shown again for more than was agreed to, and not for less', async () => {
    const person = await world.person();
    const clientId = await world.register();
    await world.signInClient(person, { clientId, scope: 'actions:call' });

    const less = await person.browser.open(start(clientId, { scope: 'actions:read' }));
    const more = await person.browser.open(start(clientId, { scope: 'mcp' }));
    expect(less.leavesTo?.searchParams.get('code')).toBeTruthy();
    expect(more.leavesTo).toBeNull();
  });

  test('is shown again when asked for, and when the agent is gone', async () => {
    const person = await world.person();
    const clientId = await world.register();
    await world.signInClient(person, { clientId, name: 'gone' });
    for (const prompt of ['consent', 'login', 'select_account']) {
      expect((await person.browser.open(start(clientId, { prompt }))).leavesTo, prompt).toBeNull();
    }
    const silent = await person.browser.open(start(clientId, { prompt: 'none' }));
    expect(silent.leavesTo?.searchParams.get('code')).toBeTruthy();

    for (const status of ['archived', 'revoked']) {
      await world.db`update auth.identity set status = ${status} where name = 'gone'`;
      const page = await person.browser.open(start(clientId));
      expect(page.leavesTo, status).toBeNull();
      const none = await person.browser.open(start(clientId, { prompt: 'none' }));
      expect(none.leavesTo?.searchParams.get('error'), status).toBe('consent_required');
    }
  });

  test('offers a name that is still free, and says what is wrong with another', async () => {
    const person = await world.person();
    await agentOf(person, 'test-client');
    const page = await person.browser.open(start(await world.register()));
    expect(page.html).toContain('value="test-client-2"');

    const taken = await person.browser.press(page, 'allow', { agent: 'new', name: 'test-client' });
    expect(taken.status).toBe(400);
    expect(taken.html).toContain('already have an agent named test-client');
    const wrong = await person.browser.press(taken, 'allow', { agent: 'new', name: 'Not valid' });
    expect(wrong.status).toBe(400);
    expect(wrong.html).toContain('role="alert"');
    const right = await person.browser.press(wrong, 'allow', { agent: 'new', name: 'valid' });
    expect(right.leavesTo?.searchParams.get('code')).toBeTruthy();
  });

  test('lets nobody be bound but one’s own live agents', async () => {
    const [ann, bob] = [await world.person(), await world.person()];
    const own = await agentOf(ann, 'own');
    const sub = (await ann.post('/v1/identities/subagents', { name: 'sub', parent_id: own })).body;
    const others = await agentOf(bob, 'others');
    const archived = await agentOf(ann, 'archived');
    await world.db`update auth.identity set status = 'archived' where id = ${archived}`;
    const clientId = await world.register();

    for (const agent of [others, sub.id, ann.id, archived, 'x', '', world.environment.adminUrl]) {
      const page = await ann.browser.open(start(clientId));
      const refused = await ann.browser.press(page, 'allow', { agent });
      expect([refused.status, refused.leavesTo], agent).toEqual([400, null]);
    }
    expect(await world.db`select from auth.oauth_grant where client_id = ${clientId}`).toEqual([]);
    const answer = await ann.browser.authorize(start(clientId), { agent: own });
    expect(answer.searchParams.get('code')).toBeTruthy();
  });

  test('leads nowhere when an application that no person has let in is turned down', async () => {
    const person = await world.person();
    const clientId = await world.register();
    const screen = await person.browser.open(start(clientId));
    const answer = await person.browser.press(screen, 'cancel');

    expect([answer.status, answer.leavesTo]).toEqual([400, null]);
    expect(answer.html).toContain('Nothing was allowed');
    expect(await agentsOf(person)).toEqual([]);
  });

  test('sends access_denied to the redirect URI of a known application', async () => {
    const person = await world.person();
    const clientId = await world.register();
    await world.signInClient(await world.person(), { clientId });
    const answer = await person.browser.authorize(start(clientId), { decision: 'cancel' });

    expect(answer.origin + answer.pathname).toBe(redirectUri);
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'client-state',
      iss: world.url,
    });
    expect(await agentsOf(person)).toEqual([]);
  });

  test('tells an auditor what to do, who makes no agents', async () => {
    const auditor = await world.person({ role: 'auditor' });
    const page = await auditor.browser.open(start(await world.register()));

    expect(page.html).toContain('As an auditor');
    expect(page.html).not.toContain('value="allow"');
    const form = { token: /name="token" value="([^"]*)"/.exec(page.html)?.[1] ?? '' };
    const forced = await post(page.url, auditor, {
      ...form,
      decision: 'allow',
      agent: 'new',
      name: 'x',
    });
    expect(forced.status).toBe(400);
    expect(await agentsOf(auditor)).toEqual([]);
  });
});

describe('a decision', () => {
  test('counts once', async () => {
    const person = await world.person();
    const page = await person.browser.open(start(await world.register()));
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
    ['a page elsewhere', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['a neighbouring subdomain', { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' }],
    ['an opaque page', { origin: 'null' }],
    ['a program that says nothing', {}],
  ])('from %s is refused', async ([, headers]) => {
    const person = await world.person();
    const page = await person.browser.open(start(await world.register()));
    const token = /name="token" value="([^"]*)"/.exec(page.html)?.[1] ?? '';
    const form = { token, decision: 'allow', agent: 'new', name: 'x' };
    const reply = await post(page.url, person, form, headers);

    expect(reply.status).toBe(403);
    expect(await agentsOf(person)).toEqual([]);
  });

  test('needs the token of the very form, shown to the very session', async () => {
    const [ann, bob] = [await world.person(), await world.person()];
    const page = await ann.browser.open(start(await world.register()));
    const other = await ann.browser.open(start(await world.register()));
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

  test('cannot be taken over by another session at the last step', async () => {
    const [ann, bob] = [await world.person(), await world.person()];
    const page = await ann.browser.open(start(await world.register()));
    const token = /name="token" value="([^"]*)"/.exec(page.html)?.[1] ?? '';
    const decided = await post(page.url, ann, {
      token,
      decision: 'allow',
      agent: 'new',
      name: 'x',
    });
    const last = new URL(decided.headers.get('location') ?? '', world.url);

    const byBob = await bob.browser.open(last.href);
    expect([byBob.status, byBob.leavesTo]).toEqual([400, null]);
    const byNobody = await openBrowser(world.url).open(last.href);
    expect([byNobody.status, byNobody.leavesTo]).toEqual([400, null]);
    const byAnn = await ann.browser.open(last.href);
    expect(byAnn.leavesTo?.searchParams.get('code')).toBeTruthy();
    expect((await ann.browser.open(last.href)).leavesTo).toBeNull();
  });
});

describe('the seeded client', () => {
  const cli = (parameters: Record<string, string> = {}) =>
    authorization(world.url, {
      client_id: cliClientId,
      redirect_uri: cliRedirectUri.replace('127.0.0.1', '127.0.0.1:40123'),
      ...parameters,
    });

  test('acts as the user, who says so with a click every time', async () => {
    const person = await world.person({ name: 'ann', role: 'admin' });
    for (let round = 0; round < 2; round += 1) {
      const { url, verifier } = cli();
      const page = await person.browser.open(url);
      expect(page.leavesTo).toBeNull();
      expect(page.html).toContain('Sign Action Gateway CLI in as you?');
      const answer = (await person.browser.press(page, 'allow')).leavesTo;
      const tokens = await world.post('/oauth/token', {
        grant_type: 'authorization_code',
        client_id: cliClientId,
        redirect_uri: 'http://127.0.0.1:40123/callback',
        code: answer?.searchParams.get('code') ?? '',
        code_verifier: verifier,
      });
      const me = await withKey(world.url, tokens.body.access_token).get('/v1/identities/me');
      expect(me.body).toMatchObject({
        id: person.id,
        kind: 'user',
        role: 'admin',
        scopes: ['user'],
      });
    }
    expect(await world.db`select from auth.oauth_binding where user_id = ${person.id}`).toEqual([]);
  });

  test('never answers prompt=none, and gets no other scope', async () => {
    const person = await world.person();
    const none = await person.browser.open(cli({ prompt: 'none' }).url);
    expect(none.leavesTo?.searchParams.get('error')).toBe('consent_required');
    const other = await person.browser.open(cli({ scope: 'mcp' }).url);
    expect(other.leavesTo?.searchParams.get('error')).toBe('invalid_scope');
  });

  test('is the only one that may act as the user', async () => {
    const person = await world.person();
    const clientId = await world.register({ client_name: 'Action Gateway CLI' });
    await world.signInClient(person, { clientId });
    for (const scope of ['user', 'mcp user']) {
      const page = await person.browser.open(start(clientId, { scope }));
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
