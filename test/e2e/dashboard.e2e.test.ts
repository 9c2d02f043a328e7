import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import { launch } from '../../launch.ts';
import { accessibilityProblems } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { OpenBrowser, WatchedPage } from '../browser/chromium.ts';
import { createCaller } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { freePort } from './support/port.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';
import { createAgent, created } from './support/world.ts';
import type { Agent } from './support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 740 };

/** The dashboard as the gateway serves it, with everything behind it. Each test goes on where the last one stopped. */
describe.skipIf(!chromium.available)(`the dashboard of a running gateway${chromium.note}`, () => {
  let url: string;
  let firstSignInUrl: string;
  let upstream: Upstream;
  let browser: OpenBrowser;
  let watched: WatchedPage;
  let page: Page;
  let admin: Caller;
  let bot: Agent;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    upstream = stack.use(await startUpstream());
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-dashboard-'));
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
    browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    ({ page } = watched);
    ({ url } = gateway);
    firstSignInUrl = gateway.firstSignInUrl ?? '';
    return async () => {
      await stack.disposeAsync();
      if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
    };
  });

  const issue = (title: string, body = 'Steps to see it.') => ({
    service: 'github',
    action: 'create_issue',
    params: { repository: 'acme/site', title, body },
  });
  const ask = async (title: string, body?: string): Promise<string> =>
    created(await bot.post('/v1/actions/call', issue(title, body))).approval_id;

  test('leads a visitor at any address to the sign-in page, and back', async () => {
    const path = '/approvals/0199c0de-0000-7000-8000-000000000000';
    await page.goto(`${url}${path}`);

    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('E-mail address').waitFor();
    expect(new URL(page.url()).searchParams.get('return_to')).toBe(path);
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  test('lets the first admin in by the one-time link, to an empty queue', async () => {
    await page.goto(firstSignInUrl);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'Not now' }).click();

    await page.waitForURL(`${url}/approvals`);
    await page.getByText('Nothing is waiting for you.').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();

    const [session] = await watched.context.cookies();
    admin = createCaller(url, { cookie: `${session?.name}=${session?.value}`, origin: url });
    bot = await createAgent(url, admin, 'deploy-bot');
    const secret = {
      name: 'github_token',
      value: 'CANARY-dashboard',
      tier: 'org',
      allowed_hosts: [upstream.host],
    };
    created(await admin.post('/v1/secrets', secret));
    created(
      await admin.post('/v1/services', { template: 'github', base_url: upstream.url, tier: 'org' }),
    );
  });

  test('shows a suspended call as it arrives, and follows it to its result once it is allowed', async () => {
    const id = await ask('Broken login');

    await page.waitForURL(`${url}/approvals/${id}`);
    const card = page.locator('article');
    await card.getByRole('heading', { name: 'Create issue "Broken login" in acme/site' }).waitFor();
    const text = (await card.textContent()) ?? '';
    for (const part of [
      'deploy-bot',
      'Medium risk',
      `POST ${upstream.host}/repos/acme/site/issues`,
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toContain('left to decide');
    expect(text).not.toContain('CANARY');
    expect(await accessibilityProblems(page)).toEqual([]);

    await page.getByRole('button', { name: /Allow once/ }).click();
    await page.getByText('github answered 201').first().waitFor();
    await page.getByText('Allowed by you').first().waitFor();
    expect(upstream.hits.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
      'POST /repos/acme/site/issues',
    ]);
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  test('denies with a reason, which the agent reads', async () => {
    const id = await ask('Not today');
    await page.goto(`${url}/approvals/${id}`);
    await page.getByRole('button', { name: /^Deny/ }).click();
    await page.getByRole('textbox').fill('Release freeze until Monday');
    await page.getByRole('button', { name: 'Deny', exact: true }).click();

    await page.getByText('“Release freeze until Monday”').waitFor();
    const answer = await bot.post('/v1/actions/call', { approval_id: id });
    expect(answer.body).toMatchObject({ status: 'denied', reason: 'Release freeze until Monday' });
  });

  test('shows the decision of another session in place of the buttons', async () => {
    const id = await ask('Decided elsewhere');
    await page.goto(`${url}/approvals/${id}`);
    await page.getByRole('button', { name: /Allow once/ }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();

    created(await admin.post(`/v1/approvals/${id}/resolve`, { resolution: 'deny', reason: 'No' }));

    await page.getByText('This was decided while you had it open').waitFor();
    expect(await page.getByRole('button', { name: /Allow once/ }).count()).toBe(0);
  });

  test('names characters that would hide something, and runs nothing', async () => {
    const title = 'pay\u202Elap <img src=x onerror=alert(1)>';
    const id = await ask(title, '<script>alert(1)</script>\u200B');
    await page.goto(`${url}/approvals/${id}`);

    const heading = page.getByRole('heading', { level: 1 });
    await heading.waitFor();
    expect(await heading.textContent()).toBe(
      String.raw`Create issue "pay\u202elap <img src=x onerror=alert(1)>" in acme/site`,
    );
    const text = await page.locator('article').textContent();
    // Disclosed values are spelled out by the gateway, the request itself by the page.
    expect(text).toContain(String.raw`Titlepay\u202elap <img src=x onerror=alert(1)>`);
    expect(text).toContain('"title": "payU+202Elap <img src=x onerror=alert(1)>"');
    expect(text).toContain('<script>alert(1)</script>U+200B');
    expect(await page.locator('article :is(img, script)').count()).toBe(0);
    await page.keyboard.press('d');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Denied by you').first().waitFor();
  });

  test('remembers the narrowest permission for a day, so that the next call runs by itself', async () => {
    const id = await ask('First of many');
    await page.setViewportSize(phone);
    await page.goto(`${url}/approvals/${id}`);
    await page.getByRole('button', { name: /remember/ }).click();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Allow and remember' }).click();
    await page.getByText('Allowed by you, and remembered').waitFor();
    await page.getByText('github answered 201').first().waitFor();

    const { items } = created(await admin.get('/v1/rules'));
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      pattern: 'org/github:create_issue:acme/site',
      approval_id: id,
    });
    const hours = (Date.parse(items[0].expires_at) - Date.parse(items[0].created_at)) / 3_600_000;
    expect(Math.round(hours)).toBe(24);
    const next = await bot.post('/v1/actions/call', issue('Second of many'));
    expect(next.body.status).toBe('called');
  });

  test('shows of a direct request the headers and where the secret goes, and asks twice to delete', async () => {
    const { approval_id: id } = created(
      await bot.post('/v1/actions/call', {
        service: 'http',
        method: 'DELETE',
        path: `${upstream.url}/repos/acme/site/labels/p1`,
        headers: { 'X-Amz-Target': 'DynamoDB.DeleteTable', Sudo: 'ro\u202Eot' },
        secrets: [{ name: 'org/github_token', in: 'header', key: 'X-Leak-Here' }],
      }),
    );
    await page.goto(`${url}/approvals/${id}`);
    await page.getByText('Secret org/github_token', { exact: true }).waitFor();

    const text = (await page.locator('article').textContent()) ?? '';
    expect(text).toContain('x-amz-target:DynamoDB.DeleteTable');
    expect(text).toContain('sudo:roU+202Eot');
    expect(text.toLowerCase()).toContain('x-leak-here header from the secret org/github_token');
    expect(text).not.toContain('CANARY');
    expect(await accessibilityProblems(page)).toEqual([]);

    const before = upstream.hits.length;
    await page.getByRole('button', { name: /Allow once/ }).click();
    await page.getByRole('group', { name: /^DELETE .*labels\/p1\?$/ }).waitFor();
    expect(upstream.hits.length).toBe(before);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: /Yes, delete/ }).click();
    await page
      .getByText(/http answered/)
      .first()
      .waitFor();
    expect(upstream.hits.at(-1)?.method).toBe('DELETE');
  });

  test('allows a request that is too large to be shown whole once its reader has said so', async () => {
    const body = { title: 'Whole title', text: 'A'.repeat(150_000) };
    const { approval_id: id } = created(
      await bot.post('/v1/actions/call', {
        service: 'http',
        method: 'POST',
        path: `${upstream.url}/notes`,
        body,
      }),
    );
    await page.goto(`${url}/approvals/${id}`);
    await page.getByText('Of one value only the beginning is shown').waitFor();
    expect(await page.locator('article').textContent()).toContain('"title": "Whole title"');
    expect(await page.getByRole('button', { name: /remember/ }).count()).toBe(0);

    const before = upstream.hits.length;
    await page.getByRole('button', { name: /Allow once/ }).click();
    await page.getByRole('button', { name: /Yes, allow it/ }).click();
    await page
      .getByText(/http answered/)
      .first()
      .waitFor();
    expect(upstream.hits.slice(before).map((hit) => hit.body)).toEqual([JSON.stringify(body)]);
  });

  test('lists what was decided', async () => {
    await page.goto(`${url}/approvals?show=decided`);

    await page.getByText('Ran, 201').first().waitFor();
    expect(await page.getByRole('listitem').count()).toBe(7);
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  test('signs out, and keeps nothing on the page', async () => {
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();

    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    expect(await page.locator('body').textContent()).not.toContain('acme/site');
    expect((await admin.get('/v1/identities/me')).status).toBe(401);
  });
});
