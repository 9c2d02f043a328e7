import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import { launch } from '../../launch.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { findAccessibilityProblems, findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { WatchedPage } from '../browser/chromium.ts';
import { phoneViewport } from '../browser/dashboard.testing.ts';
import { createCallerWithKey } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { pollUntil, successfulBodyOf } from '../support/world.ts';

const chromium = needs('chromium');

/** Each test continues on the page where the previous test stopped. */
describe.skipIf(!chromium.isAvailable)(`the first run in a browser${chromium.note}`, () => {
  let watched: WatchedPage;
  let page: Page;
  let url: string;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-first-run-'));
    stack.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
    const environment = { LOG_LEVEL: 'silent', PORT: String(await lastingPort()) };
    const gateway = stack.use(await launch(environment, { dataDir, durable: false }));
    ({ url } = gateway);
    const browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: phoneViewport });
    ({ page } = watched);
    await page.goto(gateway.firstSignInUrl ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Not now' }).click();
    return async () => {
      await stack.disposeAsync();
      if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
    };
  });

  const stepOf = () => page.locator('[aria-current=step]');
  const untilStep = (title: string) => stepOf().getByRole('heading', { name: title }).waitFor();

  test('adds an agent, connects the notice board, and leads to a call that waits for approval', async () => {
    await untilStep('Add an agent');
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    // Visiting the page of a board that is not connected yet makes no call.
    await page.goto(`${url}/sample`);
    await page.getByRole('link', { name: 'Connect the notice board' }).waitFor();
    await page.goto(`${url}/`);
    await page.getByText(/^Nothing happened yet/).waitFor();
    await page.getByRole('button', { name: 'Add the agent' }).click();

    await untilStep('Connect a service');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Notice board (sample)' }).click();

    await untilStep('Let the agent ask for something');
    await page.getByRole('button', { name: 'Ask as deploy-bot' }).click();
    await untilStep('Decide');
    expect(await findAccessibilityProblems(page)).toEqual([]);
  });

  test('shows the call on its card, and runs it once it is allowed', async () => {
    await page.getByRole('link', { name: 'Look at it' }).click();
    await page
      .getByRole('heading', { name: 'Pin "Hello from deploy-bot" to the board kitchen' })
      .waitFor();
    await page.getByRole('button', { name: /Allow once/ }).click();
    await page
      .getByText(/answered 201/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Look at the board' }).waitFor();
    await page.getByRole('link', { name: 'Go on with the first steps' }).click();
    await untilStep('Connect your own client');
    await page.goto(`${url}/approvals?show=decided`);
    await page.getByRole('main').getByText('Sample', { exact: true }).waitFor();
    await page.goto(`${url}/`);
    const lastCalls = page.getByRole('region', { name: 'Last calls' });
    await lastCalls.getByText('Sample', { exact: true }).first().waitFor();
    await page.goto(`${url}/agents`);
    await page.getByRole('link', { name: 'deploy-bot' }).first().click();
    for (const name of ['Approvals', 'Activity']) {
      const part = page.getByRole('region', { name, exact: true });
      await part.getByText('Sample', { exact: true }).first().waitFor();
    }
    await page.goto(`${url}/services/sample`);
    await page.getByRole('link', { name: 'Look at the board' }).click();
    await page.getByRole('heading', { name: 'kitchen' }).waitFor();
    await page.getByText('Hello from deploy-bot').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  test('ends when a client of the person has made its first request', async () => {
    await page.goto(`${url}/`);
    await untilStep('Connect your own client');
    await page.getByRole('button', { name: 'Make a key' }).click();
    await page.getByText('This is the key of your client').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);

    const key =
      /aak_[A-Za-z0-9]{49}/.exec((await page.locator('main').textContent()) ?? '')?.[0] ?? '';
    const client = createCallerWithKey(url, key);
    await pollUntil(async () => (await client.get('/v1/search')).status === 200, 'an answer');
    successfulBodyOf(await client.get('/v1/identities/me'));
    await page.getByText(/my client made its first request/).waitFor();
    await page.getByText('5 of 5 done').waitFor();

    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByText(/^Nothing waits for you\./).waitFor();
    expect(await page.getByRole('heading', { name: 'First steps' }).count()).toBe(0);
  });
});
