import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { callToolByMcp } from './escalation/ways.ts';
import { openBrowser } from '../support/oauth-browser.ts';
import type { OauthBrowser, Page } from '../support/oauth-browser.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import type { TestProvider } from '../support/oauth-provider.ts';
import type { Person } from '../support/people.ts';
import { choosePassword } from '../support/people.ts';
import { templateDocument } from '../support/template.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

/**
 * Takes a connection from an agent's request to the connected account, through the pages that a
 * browser shows.
 */
describe('a connection to an account at an OAuth provider', () => {
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
    successfulBodyOf(
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
  /**
   * Presses the button on the gateway's page of the connection. The provider redirects back without
   * asking. Returns the callback URL.
   */
  const goToProvider = async (browser: OauthBrowser, gatePage: Page): Promise<string> => {
    const consentAnswer = await browser.press(gatePage, '');
    const reply = await fetch(String(consentAnswer.leavesTo), { redirect: 'manual' });
    return reply.headers.get('location') ?? '';
  };
  const requestConnection = async (name: string) => {
    const requestArguments = {
      operation: 'request_connection',
      provider: 'mock',
      scopes: ['read'],
      name,
    };
    return (await callToolByMcp(world.url, bot.key, 'service_auth', requestArguments)).body as {
      connection: { id: string };
      authorization_url: string;
    };
  };

  test('is requested by an agent, and completed by the agent’s user after sign-in', async () => {
    const { connection, authorization_url: link } = await requestConnection('by_bot');
    const account = { email: 'mia@example.com', password: 'CANARY-a-good-password' };
    await choosePassword(world.url, mia, account);
    const browser = openBrowser(world.url);
    const signInPage = await browser.open(link);
    expect(signInPage.url.pathname).toBe('/sign-in');
    const gatePage = await browser.press(signInPage, '', { ...account });
    expect(gatePage.url.href).toBe(link);
    expect(gatePage.headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const expectedText of [
      'Connect Mock?',
      'Your agent bot',
      'by_bot',
      new URL(provider.issuer).host,
      'read',
      'api.example.com',
      'You are mia',
    ]) {
      expect(textOf(gatePage)).toContain(expectedText);
    }

    const donePage = await browser.open(await goToProvider(browser, gatePage));
    expect(donePage.status).toBe(200);
    expect(textOf(donePage)).toMatch(/Mock is connected[^]*by_bot[^]*ann@example\.com/);
    const { body } = await mia.get(`/v1/connections/${connection.id}`);
    expect(body).toMatchObject({ status: 'active', account_label: 'ann@example.com' });
    const usedLink = await browser.open(link);
    expect(usedLink.status).toBe(410);
    expect(textOf(usedLink)).toContain('connected already');
    const pageWithReturn = await browser.open(`${link}?return_to=%2Fservices%2Fnew`);
    expect(pageWithReturn.html).toContain('href="/services/new"');
    await pollUntil(async () => {
      const { items } = (await mia.get('/v1/audit')).body;
      return ['connection.requested', 'connection.created'].every((type) =>
        items.some((row: { type: string }) => row.type === type),
      );
    }, 'two rows of the audit log');
  });

  test('cannot be begun by another person or completed in another browser', async () => {
    const { connection, authorization_url: link } = await requestConnection('guarded');
    const stranger = browserOf(world.admin);
    const refused = await stranger.open(link);
    expect(refused.status).toBe(403);
    expect(textOf(refused)).toContain('Only the owner');

    // An attacker lures another person, or a browser without a session, to the callback of an
    // authorization that mia began.
    const browser = browserOf(mia);
    const callback = await goToProvider(browser, await browser.open(link));
    for (const otherBrowser of [stranger, openBrowser(world.url)]) {
      const page = await otherBrowser.open(callback);
      expect([401, 410]).toContain(page.status);
      expect(textOf(page)).toContain('Nothing was connected');
    }
    const path = `/v1/connections/${connection.id}`;
    expect((await mia.get(path)).body.status).toBe('pending');
    expect((await browser.open(callback)).status).toBe(200);
    expect((await mia.get(path)).body.status).toBe('active');
  });

  test('cannot be begun from another site’s page or with an agent key', async () => {
    const { authorization_url: link } = await requestConnection('forged');
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
    const bearerReply = await fetch(link, {
      method: 'POST',
      redirect: 'manual',
      headers: { authorization: `Bearer ${bot.key}` },
    });
    expect(bearerReply.status).toBe(401);
  });

  test('is restored under the same id by the link in the error, after the provider has revoked it', async () => {
    const createdConnection = successfulBodyOf(
      await mia.post('/v1/connections', { provider: 'mock', name: 'fixed' }),
    );
    const browser = browserOf(mia);
    await browser.open(
      await goToProvider(browser, await browser.open(createdConnection.authorization_url)),
    );
    const path = `/v1/connections/${createdConnection.id}`;
    provider.changeAnswer = (response) =>
      Object.assign(response, { statusCode: 400, body: { error: 'invalid_grant' } });
    const refreshReply = await mia.post(`${path}/refresh`);
    provider.changeAnswer = null;
    expect([refreshReply.status, refreshReply.body.error]).toEqual([424, 'reauth_required']);
    expect(refreshReply.body.connection_id).toBe(createdConnection.id);
    await pollUntil(async () => {
      const { items } = (await mia.get('/v1/audit')).body;
      return items.some(({ type }: { type: string }) => type === 'connection.needs_reauth');
    }, 'the audit row');

    const gatePage = await browser.open(refreshReply.body.auth_url);
    expect(textOf(gatePage)).toMatch(/Connect Mock again\?[^]*ann@example\.com/);
    await browser.open(await goToProvider(browser, gatePage));
    expect((await mia.get(path)).body).toMatchObject({
      id: createdConnection.id,
      status: 'active',
    });
    expect((await mia.post(`${path}/refresh`)).body).toMatchObject({ status: 'active' });
    expect((await mia.delete(path)).status).toBe(204);
    expect((await mia.get(path)).body.status).toBe('revoked');
  });

  test('requests the scopes of its template, and is refused if a URL of the template is not the provider’s', async () => {
    const saveTemplate = async (key: string, tokenUrl: string) => {
      const oauth2 = `{ type: oauth2, provider: mock, flows: { authorizationCode: { authorizationUrl: '${provider.issuer}/authorize', tokenUrl: '${tokenUrl}', scopes: { 'notes:read': '' } } } }`;
      const openapi = templateDocument(key).replace(/ token: \{.*\}/, ` token: ${oauth2}`);
      successfulBodyOf(await mia.post('/v1/templates', { openapi }));
      successfulBodyOf(await mia.post(`/v1/templates/${key}/publish`, { version: 1 }));
    };
    await saveTemplate('notes', `${provider.issuer}/token`);
    const createdConnection = successfulBodyOf(
      await mia.post('/v1/connections', { template: 'notes', name: 'notes' }),
    );
    expect(createdConnection).toMatchObject({ provider: 'mock', template: 'notes' });
    const gatePage = await browserOf(mia).open(createdConnection.authorization_url);
    expect(textOf(gatePage)).toContain('notes:read');

    await saveTemplate('evil', 'https://evil.example/token');
    const refused = await mia.post('/v1/connections', { template: 'evil', name: 'evil' });
    expect([refused.status, refused.body.reason]).toEqual([409, 'provider_url_mismatch']);
  });

  test('ends on a page that reports the refusal if the provider refuses it', async () => {
    const createdConnection = successfulBodyOf(
      await mia.post('/v1/connections', { provider: 'mock', name: 'denied' }),
    );
    const browser = browserOf(mia);
    const callback = new URL(
      await goToProvider(browser, await browser.open(createdConnection.authorization_url)),
    );
    callback.searchParams.delete('code');
    callback.searchParams.set('error', 'access_denied');
    callback.searchParams.set('error_description', '<script>alert(1)</script>');
    const page = await browser.open(callback.href);
    expect(page.status).toBe(403);
    expect(page.html).not.toContain('<script');
    expect(textOf(page)).toContain('You did not allow it at Mock');
  });

  test('can be begun again by its owner from a used link, if the provider granted nothing', async () => {
    const createdConnection = successfulBodyOf(
      await mia.post('/v1/connections', { provider: 'mock', name: 'again', scopes: ['read'] }),
    );
    const { authorization_url: link, id } = createdConnection;
    const browser = browserOf(mia);
    const callback = new URL(await goToProvider(browser, await browser.open(link)));
    callback.searchParams.delete('code');
    callback.searchParams.set('error', 'access_denied');
    await browser.open(callback.href);

    const usedLinkPage = await browser.open(`${link}?return_to=%2Fservices%2Fnew`);
    expect(usedLinkPage.status).toBe(410);
    const path = `/connect/repair/${id}?scope=read&return_to=%2Fservices%2Fnew`;
    expect(usedLinkPage.html).toContain(`href="${path.replaceAll('&', '&amp;')}"`);
    const gatePage = await browser.open(world.url + path);
    expect(gatePage.url.search).toBe('?return_to=%2Fservices%2Fnew');
    expect(textOf(gatePage)).toContain('Connect Mock?');
    expect((await browserOf(world.admin).open(link)).html).not.toContain(id);

    successfulBodyOf(await mia.delete(`/v1/connections/${id}`));
    const afterwards = await browser.open(link);
    expect(textOf(afterwards)).toContain('disconnected');
    expect(afterwards.html).not.toContain('/connect/repair/');
  });
});
