import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';

import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { WatchedPage } from '../browser/chromium.ts';
import { needs } from '../support/needs.ts';
import { createAgent, pollUntil, startWorld, successfulBodyOf } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const chromium = needs('chromium');

/**
 * Tests what an approver does besides a single decision, against all components. Each test
 * continues where the previous one stopped.
 */
describe.skipIf(!chromium.isAvailable)(`decisions in the dashboard${chromium.note}`, () => {
  let world: World;
  let watched: WatchedPage;
  let page: Page;
  let bot: Agent;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    world = stack.use(await startWorld());
    const { url, admin, upstream } = world;
    const secret = {
      name: 'github_token',
      value: 'CANARY-decisions',
      tier: 'org',
      allowed_hosts: [upstream.host],
    };
    successfulBodyOf(await admin.post('/v1/secrets', secret));
    successfulBodyOf(
      await admin.post('/v1/services', { template: 'github', base_url: upstream.url, tier: 'org' }),
    );
    bot = await createAgent(url, admin, 'deploy-bot');
    const browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: { width: 360, height: 740 } });
    ({ page } = watched);
    const [name = '', value = ''] = admin.cookie.split('=');
    await watched.context.addCookies([{ name, value, url }]);
    return async () => {
      await stack.disposeAsync();
      if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
    };
  });

  const createIssue = async (title: string) =>
    successfulBodyOf(
      await bot.post('/v1/actions/call', {
        service: 'github',
        action: 'create_issue',
        params: { repository: 'acme/site', title, body: 'Text.' },
      }),
    );
  const countPosts = () => world.upstream.hits.filter(({ method }) => method === 'POST').length;
  const press = (name: RegExp | string) => page.getByRole('button', { name }).click();

  test('show why a call needs approval, and remember what is allowed', async () => {
    const { approval_id: id } = await createIssue('First');
    await page.goto(`${world.url}/approvals/${id}`);
    await page.getByText('Why is this asked?').click();
    await page.getByText('Nothing allows this yet, so a person is asked.').waitFor();
    await press(/Allow and remember/);
    await page
      .getByRole('button', { name: /^Allow and remember/ })
      .last()
      .click();

    const remembered = page.getByRole('region', { name: 'What it allows' });
    await remembered
      .getByText(/deploy-bot may create issue "…" in repository acme\/site/)
      .waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    expect((await createIssue('Second')).status).toBe('called');
  });

  test('can stop what was remembered, so that the next call needs approval again', async () => {
    await press('Stop allowing');
    await press('Yes, stop allowing');
    await page.getByText('No longer allowed: such calls are asked about again').waitFor();

    await pollUntil(
      async () => (await createIssue('Third')).status === 'pending_approval',
      'a call that is asked about',
    );
  });

  test('can allow several calls of one kind together, with one audit record for each call', async () => {
    const postsBefore = countPosts();
    await createIssue('Fourth');
    await createIssue('Fifth');
    await page.goto(`${world.url}/approvals`);
    await press('Select several');
    await page.getByRole('checkbox', { name: /Third/ }).check();
    await press('Select 2 more like this');
    await press('Review 3');
    const sheet = page.getByRole('dialog');
    await sheet.getByText('The same in all').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await press('Allow these 3 once');
    await press('Yes, allow all 3');

    await sheet.getByText('All of them are decided.').waitFor();
    await pollUntil(() => countPosts() === postsBefore + 3, 'the three calls');
    await pollUntil(async () => {
      const { items } = (await world.admin.get('/v1/audit?type=approval.resolved')).body;
      return items.length === 4;
    }, 'the records of the decisions');
    expect((await createIssue('Sixth')).status).toBe('pending_approval');
  });

  test('are listed with the person who decided', async () => {
    await page.goto(`${world.url}/approvals?show=decided&q=fifth`);
    const rows = page.getByRole('main').getByRole('listitem');
    await rows.getByText(/Allowed by you/).waitFor();
    expect(await rows.count()).toBe(1);
  });
});
