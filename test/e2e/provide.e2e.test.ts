import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';

import { launch } from '../../launch.ts';
import { accessibilityProblems } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { WatchedPage } from '../browser/chromium.ts';
import { createCaller } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { useTool } from './escalation/ways.ts';
import { openEvents } from './support/events.ts';
import { freePort } from './support/port.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';
import { createAgent, created } from './support/world.ts';
import type { Agent } from './support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 740 };

/** From an agent's request to a call with what it asked for, on a phone. */
describe.skipIf(!chromium.available)(`a person who is asked for a secret${chromium.note}`, () => {
  const value = `CANARY-${randomUUID()}`;
  let url: string;
  let upstream: Upstream;
  let watched: WatchedPage;
  let page: Page;
  let admin: Caller;
  let cookie: string;
  let bot: Agent;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    upstream = stack.use(await startUpstream());
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-provide-'));
    stack.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
    const gateway = stack.use(
      await launch(
        {
          LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent',
          PORT: String(await freePort()),
          EGRESS_ALLOW: upstream.host,
        },
        { dataDir, durable: false },
      ),
    );
    const browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: phone });
    ({ page } = watched);
    ({ url } = gateway);
    await page.goto(gateway.firstSignInUrl ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/password/);
    const [session] = await watched.context.cookies();
    cookie = `${session?.name}=${session?.value}`;
    admin = createCaller(url, { cookie, origin: url });
    bot = await createAgent(url, admin, 'deploy-bot');
    return async () => {
      await stack.disposeAsync();
      if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
    };
  });

  const ask = async (given: object): Promise<{ provide_url: string; id: string }> => {
    const wish = { operation: 'request_secret', ...given };
    const { body } = await useTool(url, bot.key, 'service_auth', wish);
    expect(body.request, JSON.stringify(body)).toBeDefined();
    return body.request;
  };
  const isNarrow = async () =>
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
  const storeIt = () => page.getByRole('button', { name: 'Store the secret' }).click();

  test('reads who asks, what for and for which hosts, corrects them and enters the value', async () => {
    const types = 'secret.requested,secret.provided';
    await using events = await openEvents(url, { cookie }, types);
    const { id, provide_url: link } = await ask({
      name: 'notes_key',
      reason: 'To keep the release notes.\nNot <b>bold</b>, and \u202ehidden.',
      allowed_hosts: ['notes.example', 'EVIL.example'],
    });
    expect(link.startsWith(`${url}/provide/`)).toBe(true);
    await page.goto(link);

    await page.getByRole('heading', { name: 'Enter notes_key' }).waitFor();
    const text = (await page.locator('article').textContent()) ?? '';
    for (const part of ['deploy-bot', 'asks you for a secret', 'Not <b>bold</b>', 'U+202E']) {
      expect(text).toContain(part);
    }
    const hosts = page.getByLabel('May be sent only to');
    expect(await hosts.inputValue()).toBe('notes.example\nevil.example');
    expect(await accessibilityProblems(page)).toEqual([]);
    await isNarrow();

    await hosts.fill(`https://${upstream.host}/`);
    await page.getByLabel('The secret').fill(value);
    await storeIt();
    await page.getByRole('alert').getByText('without scheme, path or wildcard').waitFor();
    await hosts.fill(upstream.host);
    await storeIt();

    await page.getByRole('heading', { name: 'The secret is stored' }).waitFor();
    const told = (await page.locator('main').textContent()) ?? '';
    const data = () =>
      types.split(',').flatMap((type) => events.of(type).map((event) => event.data));
    await expect.poll(data).toMatchObject([
      { request_id: id, name: 'notes_key', requested_by: { name: 'deploy-bot' } },
      { request_id: id, name: 'notes_key', secret_id: expect.any(String) },
    ]);
    expect(JSON.stringify(data())).not.toMatch(new RegExp(`CANARY|${link.split('/').at(-1)}`));
    for (const part of ['deploy-bot', 'notes_key', upstream.host]) expect(told).toContain(part);
    expect(await page.content()).not.toContain('CANARY');
    expect(await accessibilityProblems(page)).toEqual([]);
    await isNarrow();

    await page.goto(link);
    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  test('has given the agent what it can use and not see', async () => {
    const call = {
      service: 'http',
      method: 'GET',
      url: `${upstream.url}/notes`,
      secrets: [{ name: 'notes_key', in: 'header', key: 'x-key' }],
    };
    const raised = created(await bot.post('/v1/actions/call', call));
    expect(raised.permission_keys).toContain(`secret:notes_key:${upstream.host}`);
    created(
      await admin.post(`/v1/approvals/${raised.approval_id}/resolve`, { resolution: 'allow' }),
    );
    await expect.poll(() => upstream.hits.length).toBe(1);
    expect(upstream.hits[0]?.headers['x-key']).toBe(value);
    // It learns the names it may use, and nothing that it could change.
    const listed = created(await bot.get('/v1/secrets')).items;
    expect(listed.map(({ name }: { name: string }) => name)).toContain('notes_key');
    expect(JSON.stringify(listed)).not.toContain(value);
    expect((await bot.get('/v1/connections')).status).toBe(200);
    expect((await bot.get(`/v1/secrets/${listed[0].id}`)).body.error).toBe('insufficient_scope');
  });

  test('is told when a link is cut off, or names what there is already', async () => {
    const { provide_url: link } = await ask({ name: 'taken_meanwhile', tier: 'org' });
    await page.goto(link.slice(0, -1));
    await page.getByRole('heading', { name: 'This link is not for you' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);

    await page.goto(link);
    await page.getByText('a secret of your organisation').waitFor();
    const body = { name: 'taken_meanwhile', tier: 'org', value, allowed_hosts: ['a.example'] };
    created(await admin.post('/v1/secrets', body));
    await page.getByLabel('May be sent only to').fill('b.example');
    await page.getByLabel('The secret').fill(value);
    await storeIt();
    await page.getByRole('alert').getByText('exists already').waitFor();
    expect(await page.getByLabel('May be sent only to').inputValue()).toBe('b.example');
    await page.reload();
    await page.getByRole('heading', { name: 'There is such a secret already' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  test('without a session is asked to sign in first, and comes back', async () => {
    const { provide_url: link } = await ask({ name: 'signed_out' });
    await watched.context.clearCookies();
    await page.goto(link);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail address').waitFor();
    expect(new URL(page.url()).searchParams.get('return_to')).toBe(new URL(link).pathname);
  });
});
