import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { OpenBrowser, WatchedPage } from '../browser/chromium.ts';
import { signInClient } from '../support/clients.ts';
import { createCallerWithKey } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { startWorld, successfulBodyOf } from '../support/world.ts';
import type { World } from '../support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 640 };
const desktop = { width: 1280, height: 800 };

/**
 * Tests the pages of agents against all components. Each test continues with the agent of the
 * previous test.
 */
describe.skipIf(!chromium.isAvailable)(`the pages of agents${chromium.note}`, () => {
  let world: World;
  let browser: OpenBrowser;
  let watched: WatchedPage;
  let page: Page;
  let agentKey: string;
  let agentId: string;
  let bot: Caller;

  const openAs = async ({ cookie }: { cookie: string }): Promise<WatchedPage> => {
    const opened = await browser.newPage({ viewport: desktop });
    const [name = '', value = ''] = cookie.split('=');
    await opened.context.addCookies([{ name, value, url: world.url }]);
    return opened;
  };

  beforeAll(async () => {
    world = await startWorld({ RATE_REGISTER_PER_HOUR: '0' });
    browser = await openChromium();
    watched = await openAs(world.admin);
    ({ page } = watched);
  });
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
    if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
  });

  const callNotes = (caller: Caller) =>
    caller.post('/v1/actions/call', {
      service: 'http',
      method: 'POST',
      url: `${world.upstream.url}/notes`,
      body: { text: 'Hello' },
    });
  const openAgent = async () => {
    await page.goto(`${world.url}/agents/${agentId}`);
    await page.getByRole('heading', { level: 1, name: 'deploy-bot' }).waitFor();
  };
  const panel = (title: string, on = page) => on.getByRole('region', { name: title });

  test('explain what an agent is, and add an agent whose key works', async () => {
    await page.goto(world.url);
    await page.getByRole('link', { name: 'Agents' }).click();
    await page.getByText(/^An agent is a program that acts for you\./).waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);

    await page.getByRole('button', { name: 'Add an agent' }).click();
    await page.getByLabel('Name').fill('Deploy Bot');
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add the agent' }).click();
    const added = panel('deploy-bot is ready');
    agentKey = (await added.locator('code', { hasText: /^aak_/ }).textContent()) ?? '';
    expect(await added.textContent()).toContain(
      `claude mcp add --transport http gateway ${world.url}/mcp --header "Authorization: Bearer ${agentKey}"`,
    );
    expect(await findProblemsInBothSchemes(page)).toEqual([]);

    bot = createCallerWithKey(world.url, agentKey);
    const me = successfulBodyOf(await bot.get('/v1/identities/me'));
    expect(me).toMatchObject({ name: 'deploy-bot', auto_call_on_approve: true });
    agentId = me.id;
    await added.getByRole('link', { name: 'Open the agent' }).click();
    await page.waitForURL(`${world.url}/agents/${agentId}`);
    expect(await page.content()).not.toContain(agentKey);
  });

  test('show what the agent may do; once that is stopped, its next call needs an approval', async () => {
    const { approval_id: id } = successfulBodyOf(await callNotes(bot));
    await panel('Approvals').getByText('Waits').waitFor();
    const remember = { resolution: 'allow_remember' };
    successfulBodyOf(await world.admin.post(`/v1/approvals/${id}/resolve`, remember));
    expect(successfulBodyOf(await callNotes(bot)).status).toBe('called');

    const permissions = panel('Permissions');
    await permissions.getByText('You allowed this').waitFor();
    const link = permissions.getByRole('link', { name: /on an approval/ });
    expect(await link.getAttribute('href')).toBe(`/approvals/${id}`);
    expect(await findProblemsInBothSchemes(page)).toEqual([]);

    await permissions.getByRole('button', { name: /^Stop allowing/ }).click();
    const question = permissions.getByRole('group', {
      name: /^Stop allowing: deploy-bot may .*\?$/,
    });
    await question.getByText('From now on such calls ask first.').waitFor();
    expect(successfulBodyOf(await callNotes(bot)).status).toBe('called');
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await question.getByRole('button', { name: 'Yes, stop allowing' }).click();
    await permissions.getByText('Nothing is allowed in advance').waitFor();
    expect(successfulBodyOf(await callNotes(bot)).status).toBe('pending_approval');
  });

  test('mark inherited permissions, and denials for the whole organisation', async () => {
    const pattern = 'http:GET:api.example.com/*';
    const orgRule = { identity_id: null, effect: 'deny', pattern: 'http:DELETE:*' };
    const ownRule = { identity_id: world.admin.id, effect: 'allow', pattern };
    const rules = await Promise.all(
      [orgRule, ownRule].map(async (rule) =>
        successfulBodyOf(await world.admin.post('/v1/rules', rule)),
      ),
    );
    const permissions = panel('Permissions');
    await permissions.getByText('inherited from').waitFor();
    await permissions.getByText('Always refused, and nobody is asked').waitFor();
    await permissions.getByText('for the whole organisation').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    for (const { id } of rules) await world.admin.delete(`/v1/rules/${id}`);
  });

  test('pause the agent within two taps on a phone; its calls are refused until it is resumed', async () => {
    await page.setViewportSize(phone);
    await page.getByRole('link', { name: 'Agents' }).last().click();
    await page.getByRole('button', { name: 'Pause deploy-bot' }).click();
    await page.getByRole('button', { name: 'Resume deploy-bot' }).waitFor();
    expect((await callNotes(bot)).body.error).toBe('identity_archived');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    expect(await findProblemsInBothSchemes(page)).toEqual([]);

    await openAgent();
    await page.getByText('Its calls are refused until you resume it').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    expect(await page.getByRole('button', { name: 'Create a key' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    // The pressed button lost the focus while its request ran. The button in its place gets the
    // focus.
    await page.waitForFunction(`document.activeElement?.textContent?.includes('Pause')`);
    expect(successfulBodyOf(await callNotes(bot)).status).toBe('pending_approval');
    await page.setViewportSize(desktop);
  });

  test('pause and resume all agents of the person', async () => {
    await page.goto(`${world.url}/agents`);
    await page.getByRole('button', { name: 'Pause all my agents' }).click();
    await page.getByRole('button', { name: /^Resume the paused ones/ }).waitFor();
    expect((await callNotes(bot)).body.error).toBe('identity_archived');
    await page.getByRole('button', { name: /^Resume the paused ones/ }).click();
    await page.getByRole('button', { name: 'Pause all my agents' }).waitFor();
    expect((await callNotes(bot)).status).toBeLessThan(300);
  });

  test('create a key that is shown once, and revoke it after a confirmation', async () => {
    await openAgent();
    const keys = panel('Keys');
    await keys.getByRole('button', { name: 'Create a key' }).click();
    await keys.getByLabel('Name of the key').fill('laptop');
    await keys.getByLabel('Works').selectOption('30 days');
    await keys.getByRole('button', { name: 'Create the key' }).click();
    const key = (await keys.locator('code', { hasText: /^aak_.{49}$/ }).textContent()) ?? '';
    const laptop = createCallerWithKey(world.url, key);
    expect((await laptop.get('/v1/identities/me')).status).toBe(200);
    await keys.getByRole('button', { name: 'I have copied it' }).click();
    expect(await page.content()).not.toContain(key);
    await keys.getByText(/ends on/).waitFor();

    await keys.getByRole('button', { name: 'Revoke the key laptop' }).click();
    const question = keys.getByRole('group', { name: 'Revoke the key laptop?' });
    await page.keyboard.press('Escape');
    expect((await laptop.get('/v1/identities/me')).status).toBe(200);
    await keys.getByRole('button', { name: 'Revoke the key laptop' }).click();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await question.getByRole('button', { name: 'Yes, revoke it' }).click();
    await keys
      .getByRole('button', { name: 'Revoke the key laptop' })
      .waitFor({ state: 'detached' });
    await question.waitFor({ state: 'detached' });
    expect((await laptop.get('/v1/identities/me')).status).toBe(401);
    expect((await bot.get('/v1/identities/me')).status).toBe(200);
  });

  test('switch self-approval of a connected program, and disconnect the program', async () => {
    const client = await signInClient(world, { id: agentId });
    await openAgent();
    const programs = panel('Connected programs');
    await programs.getByLabel('May decide its own approvals').check();
    const path = `/v1/identities/${agentId}/mcp-connections`;
    await expect
      .poll(async () => (await world.admin.get(path)).body.items[0])
      .toMatchObject({ client_id: client.id, self_approve_enabled: true });
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await programs.getByRole('button', { name: 'Disconnect Editor' }).click();
    await programs.getByRole('button', { name: 'Yes, disconnect it' }).click();
    await programs.getByText('None.').waitFor();
    expect((await world.admin.get(path)).body.items).toEqual([]);
  });

  test('rename the agent and set its last day', async () => {
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByLabel('New name').fill('release-bot');
    await page.getByRole('button', { name: 'Save the name' }).click();
    await page.getByRole('heading', { level: 1, name: 'release-bot' }).waitFor();
    await page.getByLabel('Last day').fill('2099-12-31');
    await page.getByRole('button', { name: 'Save the day' }).click();
    await page.getByText(/ends on .*2099/).waitFor();
    expect(successfulBodyOf(await bot.get('/v1/identities/me')).name).toBe('release-bot');
  });

  test('show an auditor everything, without any button', async () => {
    const auditor = await world.person({
      orgId: world.admin.orgId,
      name: 'mona',
      role: 'auditor',
    });
    const { page: auditorPage } = await openAs(auditor);
    await auditorPage.goto(`${world.url}/agents`);
    await auditorPage.getByRole('link', { name: 'release-bot' }).click();
    await panel('Keys', auditorPage).getByText('first key').waitFor();
    await panel('Activity', auditorPage).getByText('Asked a person').first().waitFor();
    expect(await auditorPage.getByRole('main').getByRole('button').count()).toBe(0);
    expect(await auditorPage.getByRole('main').getByRole('checkbox').count()).toBe(0);
    expect(await findProblemsInBothSchemes(auditorPage)).toEqual([]);
    await auditorPage.goto(`${world.url}/agents?add=1`);
    await auditorPage.getByRole('link', { name: 'release-bot' }).waitFor();
    expect(await auditorPage.getByRole('main').getByRole('button').count()).toBe(0);
  });

  test('revoke the agent for good, after naming what stops', async () => {
    await page.getByRole('button', { name: 'Revoke the agent…' }).click();
    const question = page.getByRole('group', { name: 'Revoke release-bot for good?' });
    await question.getByText('its keys: first key').waitFor();
    await question.getByRole('button', { name: 'Yes, revoke it for good' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    expect((await bot.get('/v1/identities/me')).status).toBe(401);
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
  });
});
