import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { openBrowser } from '../support/oauth-browser.ts';
import type { OauthBrowser, Page } from '../support/oauth-browser.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import type { TestProvider } from '../support/oauth-provider.ts';
import type { Person } from '../support/people.ts';
import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

interface Site {
  readonly id: string;
  readonly url: string;
}

/** An API that serves several sites at one host. It lists the sites to which a token has access. */
interface Api extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  sites: readonly Site[];
  /** The redirect targets, by the path of the request. */
  readonly redirects: Map<string, string>;
  /**
   * The path of every received request. ` without token` is appended if the request had no token.
   */
  readonly hits: string[];
}

async function startApi(): Promise<Api> {
  const hits: string[] = [];
  const server = createServer(({ url = '', headers }, reply) => {
    hits.push(`${url}${headers.authorization === undefined ? ' without token' : ''}`);
    const location = api.redirects.get(url);
    if (location !== undefined) {
      reply.writeHead(302, { location }).end();
      return;
    }
    reply.writeHead(200, { 'content-type': 'application/json' });
    reply.end(JSON.stringify(url === '/resources' ? { values: api.sites } : { ok: true }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api: Api = {
    host,
    url: `http://${host}`,
    sites: [],
    redirects: new Map(),
    hits,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return api;
}

const [acme, beta]: [Site, Site] = [
  { id: 'site-a', url: 'https://acme.example.net' },
  { id: 'site-b', url: 'https://beta.example.net' },
];

describe('an account at a provider with several sites', () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let provider: TestProvider;
  let api: Api;
  let mia: Person;
  let bot: Agent;

  /**
   * A template. By default its base URL contains the account's site; `server` sets another base
   * URL.
   */
  const templateAt = (
    key: string,
    server = `{ url: '${api.url}/ex/${key}/{site}', variables: { site: { default: '', account: ${lookUp()} } } }`,
  ) => `
openapi: 3.1.0
info: { title: ${key}, key: ${key} }
servers: [${server}]
paths:
  /pages/{page}:
    get: { operationId: get_page, summary: 'Read {page}', parameters: [{ name: page, in: path, required: true, schema: { type: string } }] }
components:
  securitySchemes:
    account: { type: oauth2, provider: mock, flows: { authorizationCode: { authorizationUrl: '${provider.issuer}/authorize', tokenUrl: '${provider.issuer}/token', scopes: { read: Read } } } }
`;
  const lookUp = () =>
    `{ get: '${api.url}/resources', items: '.values[]', value: .id, label: .url }`;

  async function saveTemplate(key: string, document = templateAt(key)): Promise<void> {
    successfulBodyOf(await mia.post('/v1/templates', { openapi: document }));
    successfulBodyOf(await mia.post(`/v1/templates/${key}/publish`, { version: 1 }));
  }

  beforeAll(async () => {
    provider = stack.use(await startTestProvider());
    api = stack.use(await startApi());
    world = stack.use(await startWorld({ EGRESS_ALLOW: `${provider.host},${api.host}` }));
    const { url, admin } = world;
    mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    bot = await createAgent(url, mia, 'bot');
    const definition = { title: 'Mock', issuer: provider.issuer, hosts: [api.host] };
    successfulBodyOf(
      await admin.put('/v1/oauth-apps/mock', {
        client_id: 'gateway',
        client_secret: 'CANARY-client-secret',
        definition,
      }),
    );
    await saveTemplate('notes');
  });
  afterAll(() => stack.disposeAsync());
  beforeEach(() => {
    api.sites = [acme, beta];
  });

  const browserOf = () => openBrowser(world.url, { cookie: mia.cookie });
  const textOf = ({ html }: Page) => html.replaceAll(/<style>.*?<\/style>|<[^>]+>/gs, ' ');

  /**
   * Requests a connection and follows its link to the provider, which grants access without asking.
   * Returns the callback URL.
   */
  async function grant(
    browser: OauthBrowser,
    body: object,
  ): Promise<{ id: string; callback: string }> {
    const request = successfulBodyOf(await mia.post('/v1/connections', body));
    const confirmPage = await browser.open(request.authorization_url);
    const leaving = await browser.press(confirmPage, '');
    const reply = await fetch(String(leaving.leavesTo), { redirect: 'manual' });
    return { id: request.id, callback: reply.headers.get('location') ?? '' };
  }

  /**
   * Opens a connection's link and confirms it. Returns the page that follows the provider's
   * redirect.
   */
  async function finish(link: string): Promise<Page & { state: string }> {
    const browser = browserOf();
    const leaving = await browser.press(await browser.open(link), '');
    const reply = await fetch(String(leaving.leavesTo), { redirect: 'manual' });
    const callback = reply.headers.get('location') ?? '';
    const state = new URL(callback).searchParams.get('state') ?? '';
    return { ...(await browser.open(callback)), state };
  }

  const pickIn = (state: string, value: string, cookie = mia.cookie) =>
    fetch(new URL('/connect/choose/mock', world.url), {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie, origin: world.url, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ state, value }),
    });

  async function connect(
    name: string,
    body: object = { template: 'notes' },
  ): Promise<{ id: string; page: Page }> {
    const browser = browserOf();
    const { id, callback } = await grant(browser, { ...body, name });
    return { id, page: await browser.open(callback) };
  }

  const stateOf = async (id: string) => successfulBodyOf(await mia.get(`/v1/connections/${id}`));
  const connectService = (template: string, connection: string, name = connection) =>
    mia.post('/v1/services', { template, name, credentials: { connection } });
  const read = (service: string, page = 'p1') =>
    bot.post('/v1/actions/call', { service, action: 'get_page', params: { page } });

  test('is bound to its site when it has access to only one, and calls go there', async () => {
    api.sites = [acme];
    const { id, page } = await connect('only');

    expect(textOf(page)).toContain(acme.url);
    expect((await stateOf(id)).account_value).toEqual({ value: 'site-a', label: acme.url });
    const service = successfulBodyOf(await connectService('notes', 'only'));
    expect(service.base_url).toBe(`${api.url}/ex/notes/site-a`);
    expect((await read('only')).body).toMatchObject({ status: 'called' });
    expect(api.hits.at(-1)).toBe('/ex/notes/site-a/pages/p1');
  });

  test('is not connected when it has access to no site', async () => {
    api.sites = [];
    const { id, page } = await connect('empty');

    expect(page.status).toBe(403);
    expect(textOf(page)).toContain('opens nothing that this could be connected to');
    expect((await stateOf(id)).status).toBe('pending');
  });

  test('is bound to the site that its owner picks; nobody else can pick, and the owner only once', async () => {
    const browser = browserOf();
    const { id, callback } = await grant(browser, { template: 'notes', name: 'picked' });
    const page = await browser.open(callback);

    expect(textOf(page)).toContain(acme.url);
    expect(textOf(page)).toContain(beta.url);
    expect((await stateOf(id)).status).toBe('pending');
    expect(textOf(await browser.open(callback))).toContain(beta.url);
    const state = new URL(callback).searchParams.get('state') ?? '';
    const pick = (value: string, cookie: string) => pickIn(state, value, cookie);
    expect((await pick('site-b', world.admin.cookie)).status).toBe(410);
    expect((await pick('site-c', mia.cookie)).status).toBe(409);
    expect((await pick('site-b', mia.cookie)).status).toBe(200);
    expect((await pick('site-a', mia.cookie)).status).toBe(410);

    expect((await stateOf(id)).account_value).toEqual({ value: 'site-b', label: beta.url });
    successfulBodyOf(await connectService('notes', 'picked'));
    expect((await read('picked')).body).toMatchObject({ status: 'called' });
    expect(api.hits.at(-1)).toBe('/ex/notes/site-b/pages/p1');
  });

  test('cannot be used for another site, whatever template, path or variable is given', async () => {
    api.sites = [acme];
    await connect('bound');
    successfulBodyOf(await connectService('notes', 'bound'));
    const hitsBefore = api.hits.length;

    const serviceWithVariables = {
      template: 'notes',
      name: 'given',
      variables: { site: 'site-b' },
    };
    expect(
      (
        await mia.post('/v1/services', {
          ...serviceWithVariables,
          credentials: { connection: 'bound' },
        })
      ).body,
    ).toMatchObject({ error: 'invalid_params' });
    const raw = { method: 'GET', connection: 'bound', url: `${api.url}/ex/notes/site-b/pages/p1` };
    expect((await mia.post('/v1/actions/http', raw)).body).toMatchObject({
      error: 'host_not_allowed',
      account_value: 'site-a',
    });
    for (const page of ['../../site-b/pages/p1', '..%2F..%2Fsite-b', '%2e%2e/%2e%2e/site-b']) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      const { body } = await read('bound', page);
      expect(['invalid_params', 'host_not_allowed']).toContain(body.error);
    }
    await saveTemplate('evil', templateAt('evil', `{ url: '${api.url}/ex/notes/site-b' }`));
    expect((await connectService('evil', 'bound', 'evil')).body).toMatchObject({
      error: 'host_not_allowed',
    });
    expect(api.hits.slice(hitsBefore)).toEqual([]);
  });

  test('is used at the same site by a service of another template of the provider', async () => {
    api.sites = [beta];
    await connect('shared');
    await saveTemplate('wiki');

    expect(successfulBodyOf(await connectService('wiki', 'shared', 'wiki')).base_url).toBe(
      `${api.url}/ex/wiki/site-b`,
    );
    expect((await read('wiki')).body).toMatchObject({ status: 'called' });
    expect(api.hits.at(-1)).toBe('/ex/wiki/site-b/pages/p1');
  });

  test('cannot be used by a service when it was connected without a template', async () => {
    await connect('loose', { provider: 'mock', scopes: ['read'] });

    expect((await connectService('notes', 'loose')).body).toMatchObject({
      error: 'credential_missing',
    });
    api.sites = [acme];
    await connect('loose');
    successfulBodyOf(await connectService('notes', 'loose'));
  });

  test('must be connected again when it has lost access to the site', async () => {
    api.sites = [acme];
    const { id } = await connect('left');
    successfulBodyOf(await connectService('notes', 'left'));
    api.sites = [beta];
    const { page } = await connect('left');

    expect(page.status).toBe(409);
    expect(textOf(page)).toContain(acme.url);
    expect((await stateOf(id)).status).toBe('needs_reauth');
    expect((await read('left')).body).toMatchObject({ error: 'reauth_required' });

    api.sites = [beta, acme];
    await connect('left');
    expect(await stateOf(id)).toMatchObject({
      status: 'active',
      account_value: { value: 'site-a' },
    });
  });

  test.for([
    ['by its id', (id: string) => ({ connection: id, scopes: ['read'] })],
    ['by its name', () => ({ provider: 'mock', name: 'asked-by-its-name', scopes: ['read'] })],
  ] as const)(
    'is bound to no site before its owner picks one, also when an agent requests the link by naming the connection %s',
    async ([how, ask]) => {
      const body = { template: 'notes', name: `asked ${how}`.replaceAll(' ', '-') };
      const { id } = successfulBodyOf(await mia.post('/v1/connections', body));
      const link = successfulBodyOf(await bot.post('/v1/connections', ask(id)));
      expect(link.id).toBe(id);

      for (const url of [link.authorization_url, `${world.url}/connect/repair/${id}`]) {
        // oxlint-disable-next-line no-await-in-loop -- one after another
        const page = await finish(url);
        expect(textOf(page)).toContain(beta.url);
        // oxlint-disable-next-line no-await-in-loop -- one after another
        expect(await stateOf(id)).toMatchObject({ status: 'pending', account_value: null });
      }
    },
  );

  test('is not connected without a site by a link that is older than the request for the template', async () => {
    const withoutTemplate = { provider: 'mock', name: 'earlier', scopes: ['read'] };
    const earlier = successfulBodyOf(await mia.post('/v1/connections', withoutTemplate));
    successfulBodyOf(await mia.post('/v1/connections', { template: 'notes', name: 'earlier' }));
    const page = await finish(earlier.authorization_url);

    expect(page.status).toBe(409);
    expect(await stateOf(earlier.id)).toMatchObject({ status: 'pending', account_value: null });
  });

  test('stays at its site when a read is redirected', async () => {
    api.sites = [acme];
    await connect('led');
    successfulBodyOf(await connectService('notes', 'led'));
    const targets = ['..%2F..%2F..%2Fnotes%2Fsite-b', '..;x', '%252e%252e%252fb', '%2e%2e%2Fb'];

    for (const target of targets) {
      api.redirects.set('/ex/notes/site-a/pages/away', `/ex/notes/site-a/pages/${target}`);
      // oxlint-disable-next-line no-await-in-loop -- one after another
      expect((await read('led', 'away')).body).toMatchObject({ result: { status_code: 302 } });
      expect(api.hits.at(-1)).toBe('/ex/notes/site-a/pages/away');
    }
    api.redirects.set('/ex/notes/site-a/pages/away', '/ex/notes/site-a/pages/p2');
    expect((await read('led', 'away')).body).toMatchObject({ result: { status_code: 200 } });
  });

  test('cannot be used at a further base URL just because an agent requests it with another template', async () => {
    api.sites = [acme];
    const { id } = await connect('widened');
    await saveTemplate('wider');
    successfulBodyOf(await bot.post('/v1/connections', { template: 'wider', name: 'widened' }));
    expect((await finish(`${world.url}/connect/repair/${id}`)).status).toBe(200);

    const url = `${api.url}/ex/wider/site-a/pages/p1`;
    const raw = { method: 'GET', connection: 'widened', url };
    expect((await mia.post('/v1/actions/http', raw)).body).toMatchObject({
      error: 'host_not_allowed',
    });
  });

  test('does not replace the account and site that another link has connected meanwhile', async () => {
    const connectionRequest = { template: 'notes', name: 'swapped' };
    const links = [1, 2, 3].map(async () =>
      successfulBodyOf(await mia.post('/v1/connections', connectionRequest)),
    );
    const [first, second, third] = await Promise.all(links);
    const { id } = first;
    const otherAccountPage = await finish(first.authorization_url);
    provider.account = { sub: 'account-2', email: 'bob@example.com' };
    try {
      const sameAccountPage = await finish(second.authorization_url);
      const { state } = await finish(third.authorization_url);
      expect((await pickIn(state, 'site-b')).status).toBe(200);
      const stored = await stateOf(id);

      expect((await pickIn(otherAccountPage.state, 'site-b')).status).toBe(409);
      expect((await pickIn(sameAccountPage.state, 'site-a')).status).toBe(409);
      expect(await stateOf(id)).toEqual(stored);
    } finally {
      provider.account = { sub: 'account-1', email: 'ann@example.com' };
    }
  });

  test('can be used at the base URL of each service, also when the services are connected at once', async () => {
    api.sites = [acme];
    await connect('parallel');
    const templates = ['one', 'two', 'three', 'four'];
    for (const key of templates) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await saveTemplate(key);
    }
    const connectReplies = await Promise.all(
      templates.map((key) => connectService(key, 'parallel', key)),
    );

    expect(connectReplies.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const answers = await Promise.all(templates.map((key) => read(key)));
    expect(answers.map(({ body }) => body.status)).toEqual(templates.map(() => 'called'));
  });

  test('shows the id of each site to pick from, because two sites can have the same label', async () => {
    api.sites = [acme, { ...beta, url: acme.url.toUpperCase() }];
    const { page } = await connect('twins');

    expect(textOf(page)).toContain(`${acme.url} (site-a)`);
    expect(textOf(page)).toContain('(site-b)');
  });
});
