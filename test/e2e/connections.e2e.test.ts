import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { useTool } from './escalation/ways.ts';
import { openBrowser } from '../support/oauth-browser.ts';
import type { OauthBrowser, Page } from '../support/oauth-browser.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import type { TestProvider } from '../support/oauth-provider.ts';
import type { Person } from './support/people.ts';
import { choosePassword } from './support/people.ts';
import { templateDocument } from './support/template.ts';
import { createAgent, created, startWorld, until } from './support/world.ts';
import type { Agent, World } from './support/world.ts';

/** From an agent's wish to a connected account, with the pages in between as a browser sees them. */
describe('a connection', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let provider: TestProvider;
  let mia: Person;
  let bot: Agent;

  beforeAll(async () => {
    provider = stack.use(await startTestProvider());
    world = stack.use(await startWorld({ EGRESS_ALLOW: provider.host }));
    const { url, admin } = world;
    mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    bot = await createAgent(url, mia, 'bot');
    created(
      await admin.put('/v1/oauth-apps/mock', {
        client_id: 'gateway',
        client_secret: 'CANARY-client-secret',
        definition: { title: 'Mock', issuer: provider.issuer, hosts: ['api.example.com'] },
      }),
    );
  });
  afterAll(() => stack.disposeAsync());

  const browserOf = (person: { cookie: string }) =>
    openBrowser(world.url, { cookie: person.cookie });
  const textOf = ({ html }: Page) => html.replaceAll(/<style>.*?<\/style>|<[^>]+>/gs, ' ');
  /** Presses the button of the gate; the provider asks nothing and sends the browser back. */
  const goThere = async (browser: OauthBrowser, gate: Page): Promise<string> => {
    const sent = await browser.press(gate, '');
    const reply = await fetch(String(sent.leavesTo), { redirect: 'manual' });
    return reply.headers.get('location') ?? '';
  };
  const request = async (name: string) => {
    const given = { operation: 'request_connection', provider: 'mock', scopes: ['read'], name };
    return (await useTool(world.url, bot.key, 'service_auth', given)).body as {
      connection: { id: string };
      authorization_url: string;
    };
  };

  test('is asked for by an agent and completed by its user, after signing in', async () => {
    const { connection, authorization_url: link } = await request('by_bot');
    const account = { email: 'mia@example.com', password: 'CANARY-a-good-password' };
    await choosePassword(world.url, mia, account);
    const browser = openBrowser(world.url);
    const signIn = await browser.open(link);
    expect(signIn.url.pathname).toBe('/sign-in');
    const gate = await browser.press(signIn, '', { ...account });
    expect(gate.url.href).toBe(link);
    expect(gate.headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const told of [
      'Connect Mock?',
      'Your agent bot',
      'by_bot',
      new URL(provider.issuer).host,
      'read',
      'api.example.com',
      'You are mia',
    ]) {
      expect(textOf(gate)).toContain(told);
    }

    const done = await browser.open(await goThere(browser, gate));
    expect(done.status).toBe(200);
    expect(textOf(done)).toMatch(/Mock is connected[^]*by_bot[^]*ann@example\.com/);
    const { body } = await mia.get(`/v1/connections/${connection.id}`);
    expect(body).toMatchObject({ status: 'active', account_label: 'ann@example.com' });
    expect((await browser.open(link)).status).toBe(410);
    await until(async () => {
      const { items } = (await mia.get('/v1/audit')).body;
      return ['connection.requested', 'connection.created'].every((type) =>
        items.some((row: { type: string }) => row.type === type),
      );
    }, 'two rows of the audit log');
  });

  test('is completed by nobody else: not begun, and not finished in another browser', async () => {
    const { connection, authorization_url: link } = await request('guarded');
    const stranger = browserOf(world.admin);
    const refused = await stranger.open(link);
    expect(refused.status).toBe(403);
    expect(textOf(refused)).toContain('Only the owner');

    // The admin is lured to the callback with an answer that was begun for mia, and the other way round.
    const browser = browserOf(mia);
    const callback = await goThere(browser, await browser.open(link));
    for (const other of [stranger, openBrowser(world.url)]) {
      const page = await other.open(callback);
      expect([401, 410]).toContain(page.status);
      expect(textOf(page)).toContain('Nothing was connected');
    }
    const path = `/v1/connections/${connection.id}`;
    expect((await mia.get(path)).body.status).toBe('pending');
    expect((await browser.open(callback)).status).toBe(200);
    expect((await mia.get(path)).body.status).toBe('active');
  });

  test('is begun by no other page and by no link', async () => {
    const { authorization_url: link } = await request('forged');
    for (const headers of [{}, { origin: 'https://evil.example' }, { origin: 'null' }]) {
      const reply = await fetch(link, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          cookie: mia.cookie,
          'content-type': 'application/x-www-form-urlencoded',
          ...headers,
        },
      });
      expect(reply.status).toBe(403);
    }
    const bearer = await fetch(link, {
      method: 'POST',
      redirect: 'manual',
      headers: { authorization: `Bearer ${bot.key}` },
    });
    expect(bearer.status).toBe(401);
  });

  test('that has ended is mended by the link of the error, under the same id', async () => {
    const made = created(await mia.post('/v1/connections', { provider: 'mock', name: 'mended' }));
    const browser = browserOf(mia);
    await browser.open(await goThere(browser, await browser.open(made.authorization_url)));
    const path = `/v1/connections/${made.id}`;
    provider.answer = (response) =>
      Object.assign(response, { statusCode: 400, body: { error: 'invalid_grant' } });
    const refreshed = await mia.post(`${path}/refresh`);
    provider.answer = null;
    expect([refreshed.status, refreshed.body.error]).toEqual([424, 'reauth_required']);
    expect(refreshed.body.connection_id).toBe(made.id);
    await until(async () => {
      const { items } = (await mia.get('/v1/audit')).body;
      return items.some(({ type }: { type: string }) => type === 'connection.needs_reauth');
    }, 'the audit row');

    const gate = await browser.open(refreshed.body.auth_url);
    expect(textOf(gate)).toMatch(/Connect Mock again\?[^]*ann@example\.com/);
    await browser.open(await goThere(browser, gate));
    expect((await mia.get(path)).body).toMatchObject({ id: made.id, status: 'active' });
    expect((await mia.post(`${path}/refresh`)).body).toMatchObject({ status: 'active' });
    expect((await mia.delete(path)).status).toBe(204);
    expect((await mia.get(path)).body.status).toBe('revoked');
  });

  test('is asked for by a template with its scopes and hosts, at the addresses of its provider alone', async () => {
    const save = async (key: string, tokenUrl: string) => {
      const oauth2 = `{ type: oauth2, provider: mock, flows: { authorizationCode: { authorizationUrl: '${provider.issuer}/authorize', tokenUrl: '${tokenUrl}', scopes: { 'notes:read': '' } } } }`;
      const openapi = templateDocument(key).replace(/ token: \{.*\}/, ` token: ${oauth2}`);
      created(await mia.post('/v1/templates', { openapi }));
      created(await mia.post(`/v1/templates/${key}/publish`, { version: 1 }));
    };
    await save('notes', `${provider.issuer}/token`);
    const made = created(await mia.post('/v1/connections', { template: 'notes', name: 'notes' }));
    expect(made).toMatchObject({ provider: 'mock', template: 'notes' });
    const gate = await browserOf(mia).open(made.authorization_url);
    expect(textOf(gate)).toContain('notes:read');

    await save('evil', 'https://evil.example/token');
    const refused = await mia.post('/v1/connections', { template: 'evil', name: 'evil' });
    expect([refused.status, refused.body.reason]).toEqual([409, 'provider_url_mismatch']);
  });

  test('at a provider that says no ends on a page that says so', async () => {
    const made = created(await mia.post('/v1/connections', { provider: 'mock', name: 'denied' }));
    const browser = browserOf(mia);
    const callback = new URL(await goThere(browser, await browser.open(made.authorization_url)));
    callback.searchParams.delete('code');
    callback.searchParams.set('error', 'access_denied');
    callback.searchParams.set('error_description', '<script>alert(1)</script>');
    const page = await browser.open(callback.href);
    expect(page.status).toBe(403);
    expect(page.html).not.toContain('<script');
    expect(textOf(page)).toContain('You did not allow it at Mock');
  });
});
