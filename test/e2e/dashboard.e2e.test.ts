import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import { launch } from '../../launch.ts';
import { findAccessibilityProblems } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { OpenBrowser, WatchedPage } from '../browser/chromium.ts';
import { createCaller } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Upstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf } from '../support/world.ts';
import type { Agent } from '../support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 740 };

/**
 * Tests the dashboard that a gateway serves, with all components running. Each test continues on
 * the page where the previous test stopped.
 */
describe.skipIf(!chromium.isAvailable)(`the dashboard of a running gateway${chromium.note}`, () => {
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
          PORT: String(await lastingPort()),
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

  const createIssueCall = (title: string, body = 'Steps to see it.') => ({
    service: 'github',
    action: 'create_issue',
    params: { repository: 'acme/site', title, body },
  });
  const askForNote = async (title: string, body?: string): Promise<string> =>
    successfulBodyOf(await bot.post('/v1/actions/call', createIssueCall(title, body))).approval_id;

  test('leads a visitor from any address to the sign-in page, and back to that address', async () => {
    const path = '/approvals/0199c0de-0000-7000-8000-000000000000';
    await page.goto(`${url}${path}`);

    await page.getByLabel('E-mail address').waitFor();
    expect(new URL(page.url()).searchParams.get('return_to')).toBe(path);
    expect(await findAccessibilityProblems(page)).toEqual([]);
  });

  test('serves the licences of the packages that it contains', async () => {
    const answer = await fetch(`${url}/third-party-licenses.txt`);
    expect(answer.headers.get('content-type')).toContain('text/plain');
    const text = await answer.text();
    for (const name of ['solid-js', '@kobalte/core', '@tanstack/solid-query', 'tailwindcss'])
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, 'm'));
  });

  test('signs the first admin in with the one-time link, and shows the home page and an empty queue', async () => {
    await page.goto(firstSignInUrl);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'Not now' }).click();

    await page.getByRole('heading', { name: 'There is no such approval' }).waitFor();
    await page.getByRole('link', { name: 'Home' }).click();
    await page.waitForURL(`${url}/`);
    await page.getByText(/^Nothing waits for you\./).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'Approvals' }).click();
    await page.getByText(/^Nothing waits for you\./).waitFor();

    const [session] = await watched.context.cookies();
    admin = createCaller(url, { cookie: `${session?.name}=${session?.value}`, origin: url });
    bot = await createAgent(url, admin, 'deploy-bot');
    const secret = {
      name: 'github_token',
      value: 'CANARY-dashboard',
      tier: 'org',
      allowed_hosts: [upstream.host],
    };
    successfulBodyOf(await admin.post('/v1/secrets', secret));
    successfulBodyOf(
      await admin.post('/v1/services', { template: 'github', base_url: upstream.url, tier: 'org' }),
    );
  });

  test('shows a suspended call as it arrives, and its result once it is allowed and run', async () => {
    const id = await askForNote('Broken login');

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
    expect(await findAccessibilityProblems(page)).toEqual([]);

    await page.getByRole('button', { name: /Allow once/ }).click();
    await page.getByText('GitHub (org/github) answered 201').first().waitFor();
    await page.getByText('Allowed by you').first().waitFor();
    expect(upstream.hits.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
      'POST /repos/acme/site/issues',
    ]);
    expect(await findAccessibilityProblems(page)).toEqual([]);
  });

  test('denies a call with a reason, which the agent reads', async () => {
    const id = await askForNote('Not today');
    await page.goto(`${url}/approvals/${id}`);
    await page.getByRole('button', { name: /^Deny/ }).click();
    await page.getByRole('textbox').fill('Release freeze until Monday');
    await page.getByRole('button', { name: 'Deny', exact: true }).click();

    await page.getByText('“Release freeze until Monday”').waitFor();
    const answer = await bot.post('/v1/actions/call', { approval_id: id });
    expect(answer.body).toMatchObject({ status: 'denied', reason: 'Release freeze until Monday' });
  });

  test('shows a decision made in another session in place of the buttons', async () => {
    const id = await askForNote('Decided elsewhere');
    await page.goto(`${url}/approvals/${id}`);
    await page.getByRole('button', { name: /Allow once/ }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();

    successfulBodyOf(
      await admin.post(`/v1/approvals/${id}/resolve`, { resolution: 'deny', reason: 'No' }),
    );

    await page.getByText('This was decided while you had it open').waitFor();
    expect(await page.getByRole('button', { name: /Allow once/ }).count()).toBe(0);
  });

  test('shows the names of characters that would hide text, and executes no markup', async () => {
    const title = 'pay\u202Elap <img src=x onerror=alert(1)>';
    const id = await askForNote(title, '<script>alert(1)</script>\u200B');
    await page.goto(`${url}/approvals/${id}`);

    const heading = page.getByRole('heading', { level: 1 });
    await heading.waitFor();
    expect(await heading.textContent()).toBe(
      String.raw`Create issue "pay\u202elap <img src=x onerror=alert(1)>" in acme/site`,
    );
    const text = await page.locator('article').textContent();
    // The gateway escapes disclosed values; the page escapes the values of the request itself.
    expect(text).toContain(String.raw`Titlepay\u202elap <img src=x onerror=alert(1)>`);
    expect(text).toContain('"title": "payU+202Elap <img src=x onerror=alert(1)>"');
    expect(text).toContain('<script>alert(1)</script>U+200B');
    expect(await page.locator('article :is(img, script)').count()).toBe(0);
    await page.keyboard.press('d');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Denied by you').first().waitFor();
  });

  test('remembers the narrowest permission for a day, so that the next call needs no approval', async () => {
    const id = await askForNote('First of many');
    await page.setViewportSize(phone);
    await page.goto(`${url}/approvals/${id}`);
    await page.getByRole('button', { name: /remember/ }).click();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Allow and remember' }).click();
    await page.getByText('Allowed by you, and remembered').waitFor();
    await page.getByText('GitHub (org/github) answered 201').first().waitFor();

    const { items } = successfulBodyOf(await admin.get('/v1/rules'));
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({
      pattern: 'org/github:create_issue:acme/site',
      approval_id: id,
    });
    const hours = (Date.parse(items[0].expires_at) - Date.parse(items[0].created_at)) / 3_600_000;
    expect(Math.round(hours)).toBe(24);
    const next = await bot.post('/v1/actions/call', createIssueCall('Second of many'));
    expect(next.body.status).toBe('called');
  });

  test('shows the headers of a call by URL and where the secret is sent, and asks for a confirmation before a deletion', async () => {
    const { approval_id: id } = successfulBodyOf(
      await bot.post('/v1/actions/call', {
        service: 'http',
        method: 'DELETE',
        path: `${upstream.url}/repos/acme/site/labels/p1`,
        headers: { 'X-Amz-Target': 'DynamoDB.DeleteTable', 'X-Role': 'ro\u202Eot' },
        secrets: [{ name: 'org/github_token', in: 'header', key: 'X-Leak-Here' }],
      }),
    );
    await page.goto(`${url}/approvals/${id}`);
    await page.getByText('Secret org/github_token', { exact: true }).waitFor();

    const text = (await page.locator('article').textContent()) ?? '';
    expect(text).toContain('x-amz-target:DynamoDB.DeleteTable');
    expect(text).toContain('x-role:roU+202Eot');
    expect(text.toLowerCase()).toContain('x-leak-here header from the secret org/github_token');
    expect(text).not.toContain('CANARY');
    expect(await findAccessibilityProblems(page)).toEqual([]);

    const hitsBefore = upstream.hits.length;
    await page.getByRole('button', { name: /Allow once/ }).click();
    await page.getByRole('group', { name: /^DELETE .*labels\/p1\?$/ }).waitFor();
    expect(upstream.hits.length).toBe(hitsBefore);
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: /Yes, delete/ }).click();
    await page
      .getByText(/http answered/)
      .first()
      .waitFor();
    expect(upstream.hits.at(-1)?.method).toBe('DELETE');
  });

  test('allows a request that is too large to be shown whole only after a confirmation', async () => {
    const body = { title: 'Whole title', text: 'A'.repeat(150_000) };
    const { approval_id: id } = successfulBodyOf(
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

    const hitsBefore = upstream.hits.length;
    await page.getByRole('button', { name: /Allow once/ }).click();
    await page.getByRole('button', { name: /Yes, allow it/ }).click();
    await page
      .getByText(/http answered/)
      .first()
      .waitFor();
    expect(upstream.hits.slice(hitsBefore).map((hit) => hit.body)).toEqual([JSON.stringify(body)]);
  });

  test('lists the decided approvals', async () => {
    await page.goto(`${url}/approvals?show=decided`);

    await page.getByText('Done', { exact: true }).first().waitFor();
    expect(await page.getByRole('main').getByRole('listitem').count()).toBe(7);
    expect(await findAccessibilityProblems(page)).toEqual([]);
  });

  test('signs the user out, and leaves no data on the page', async () => {
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();

    await page.getByLabel('E-mail address').waitFor();
    expect(await page.locator('body').textContent()).not.toContain('acme/site');
    expect((await admin.get('/v1/identities/me')).status).toBe(401);
  });
});
