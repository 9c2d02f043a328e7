import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { OpenBrowser, WatchedPage } from '../browser/chromium.ts';
import { startReceiver } from '../story/receiver.ts';
import type { Receiver } from '../story/receiver.ts';
import { createCaller, signIn } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { createAgent, startWorld, successfulBodyOf } from '../support/world.ts';
import type { World } from '../support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 640 };
const desktop = { width: 1280, height: 800 };

const pathOf = (link: string) => new URL(link).pathname + new URL(link).search;

/** Each test continues on the page where the previous test stopped. */
describe.skipIf(!chromium.isAvailable)(`the pages of the organisation${chromium.note}`, () => {
  const stack = new AsyncDisposableStack();
  let world: World;
  let browser: OpenBrowser;
  let receiver: Receiver;
  let watched: WatchedPage;
  let page: Page;

  const openAs = async ({ cookie }: { cookie: string }): Promise<WatchedPage> => {
    const opened = await browser.newPage({ viewport: desktop });
    const [name = '', value = ''] = cookie.split('=');
    await opened.context.addCookies([{ name, value, url: world.url }]);
    return opened;
  };
  const expectNoProblems = async () => {
    for (const viewport of [phone, desktop]) {
      await page.setViewportSize(viewport);
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    }
  };
  const rowOf = (name: string) => page.getByRole('listitem').filter({ hasText: name });
  const userNamed = async (name: string) => {
    const { items } = successfulBodyOf(await world.admin.get('/v1/users'));
    return items.find((user: { name: string }) => user.name === name);
  };

  beforeAll(async () => {
    receiver = stack.use(await startReceiver());
    world = stack.use(await startWorld({ EGRESS_ALLOW: new URL(receiver.url).host }));
    browser = stack.use(await openChromium());
    watched = await openAs(world.admin);
    ({ page } = watched);
  });
  afterAll(async () => {
    await stack.disposeAsync();
    if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
  });

  test('let an admin invite a person, who signs in once with the link', async () => {
    await page.goto(world.url);
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('button', { name: 'Invite a person' }).click();
    await page.getByLabel('E-mail address').fill('ben@acme.example');
    await expectNoProblems();
    await page.getByRole('button', { name: 'Invite', exact: true }).click();
    const link = (await page.locator('code', { hasText: '/sign-in?' }).textContent()) ?? '';

    const guest = await browser.newPage({ viewport: desktop });
    await guest.page.goto(link);
    await guest.page.getByRole('button', { name: 'Sign in' }).click();
    await guest.page.getByLabel('New password').fill('CANARY-battery-staple');
    await guest.page.getByRole('button', { name: 'Save password' }).click();
    await guest.page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => guest.page.getByRole('link', { name: 'Agents' }).count()).toBe(1);
    // The dashboard shows a member no links to these pages, and the API refuses the content.
    expect(await guest.page.getByRole('link', { name: 'Members' }).count()).toBe(0);
    await guest.page.goto(`${world.url}/members`);
    await guest.page.getByRole('alert').getByText(/admin/i).waitFor();
    await guest.context.close();

    await page.getByRole('button', { name: 'I have copied it' }).click();
    await rowOf('ben@acme.example').waitFor();
    expect(await page.content()).not.toContain(link);
    await expectNoProblems();
  });

  test('change a role, and pause and resume a person', async () => {
    const { id } = await userNamed('ben');
    await page.getByRole('button', { name: 'Manage ben' }).click();
    await page.getByLabel(/^Auditor/).check();
    await page.getByText(/agents of an auditor cannot act/).waitFor();
    await page.getByRole('button', { name: 'Change the role' }).click();
    await expect.poll(async () => (await userNamed('ben')).role).toBe('auditor');
    await page.getByLabel(/^Member/).check();
    await page.getByRole('button', { name: 'Change the role' }).click();
    await expect.poll(async () => (await userNamed('ben')).role).toBe('member');

    const session = await signInAgain(id);
    const bot = await createAgent(world.url, session, 'bens-bot');
    await expectNoProblems();
    await page.getByRole('button', { name: 'Pause ben' }).click();
    await rowOf('ben@acme.example').getByText('Paused', { exact: true }).waitFor();
    expect(await bot.get('/v1/identities/me')).toMatchObject({
      body: { error: 'identity_archived' },
    });
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(async () => (await bot.get('/v1/identities/me')).status).toBe(200);
    // The button has disappeared. The focus stays at its place, not at the top of the page.
    await page.getByRole('button', { name: 'Pause ben' }).waitFor();
    await page.waitForFunction(`document.activeElement.textContent.startsWith('ben')`);
  });

  test('create a new sign-in link, and remove a person for good', async () => {
    await page.getByRole('button', { name: 'Make a sign-in link' }).click();
    const link = (await page.locator('code', { hasText: '/sign-in?' }).textContent()) ?? '';
    expect(await createCaller(world.url, {}).get(pathOf(link))).toMatchObject({
      status: 200,
    });
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Remove for good: ben' }).click();
    await page.getByRole('button', { name: 'Go back' }).click();
    expect((await userNamed('ben')).status).toBe('active');
    await page.getByRole('button', { name: 'Remove for good: ben' }).click();
    await page.getByRole('button', { name: 'Yes, remove them for good' }).click();
    await expect.poll(async () => (await userNamed('ben')).status).toBe('revoked');
    await page.getByRole('button', { name: 'Show removed people (1)' }).click();
    await rowOf('ben@acme.example').getByText('Removed', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Manage ben' }).count()).toBe(0);
  });

  test('create a webhook, which is verified and then receives events', async () => {
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText(/^A webhook tells your own programs/).waitFor();
    await expectNoProblems();
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Address').fill(receiver.url);
    await page.getByLabel('Agents and permissions').check();
    await expectNoProblems();
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    const secret = (await page.locator('code', { hasText: /^whsec_/ }).textContent()) ?? '';
    receiver.secret = secret;
    await page.getByRole('button', { name: 'I have copied it' }).click();
    const host = new URL(receiver.url).host;
    await rowOf(host).first().getByText('works', { exact: true }).waitFor();
    expect(await page.content()).not.toContain(secret);

    await createAgent(world.url, world.admin, 'watched-bot');
    await expect
      .poll(() => receiver.receivedEvents.map(({ type }) => type), { timeout: 20_000 })
      .toContain('identity.created');
    await page.getByRole('button', { name: `Deliveries to ${host}` }).click();
    const delivery = rowOf('identity.created').last();
    await delivery.getByText('delivered', { exact: true }).waitFor();
    await expectNoProblems();
    const [{ id }] = successfulBodyOf(await world.admin.get('/v1/webhooks')).items;
    const deliveredAt = async () => {
      const { items } = successfulBodyOf(await world.admin.get(`/v1/webhooks/${id}/deliveries`));
      return items.map((each: { delivered_at: string | null }) => each.delivered_at);
    };
    const deliveredBefore = await deliveredAt();
    await delivery.getByRole('button', { name: /^Send again/ }).click();
    await expect
      .poll(deliveredAt)
      .toEqual([expect.not.stringMatching(deliveredBefore[0]), ...deliveredBefore.slice(1)]);

    const { orgId } = world.admin;
    const { page: auditorPage } = await openAs(
      await world.person({ orgId, name: 'kim', role: 'auditor' }),
    );
    await auditorPage.goto(`${world.url}/webhooks`);
    await auditorPage.getByRole('button', { name: `Deliveries to ${host}` }).click();
    await auditorPage.getByText('delivered', { exact: true }).first().waitFor();
    const buttons = auditorPage.getByRole('main').getByRole('button');
    expect(await buttons.allTextContents()).toEqual(['Deliveries']);
  });

  test('show that an address which may not be called is not verified, and delete webhooks', async () => {
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Address').fill('http://169.254.169.254/latest');
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('button', { name: 'Verify 169.254.169.254' }).click();
    await page.getByText(/has not answered the challenge yet/).waitFor();
    await expectNoProblems();
    await page.getByRole('button', { name: 'Delete the webhook to 169.254.169.254' }).click();
    await page.getByRole('button', { name: 'Yes, delete it' }).click();
    const host = new URL(receiver.url).host;
    await page.getByRole('button', { name: `Delete the webhook to ${host}` }).click();
    await page.getByRole('button', { name: 'Yes, delete it' }).click();
    await page.getByText(/^A webhook tells your own programs/).waitFor();
    expect(successfulBodyOf(await world.admin.get('/v1/webhooks')).items).toEqual([]);
  });

  test('change how long an approval stays open', async () => {
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('An approval stays open for').selectOption({ label: '8 hours' });
    await expectNoProblems();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(successfulBodyOf(await world.admin.get('/v1/org'))).toMatchObject({
      approval_ttl_seconds: 28_800,
      auto_bubble_seconds: 300,
    });
  });

  test('show an auditor everything, without any button for changes', async () => {
    const auditor = await world.person({
      orgId: world.admin.orgId,
      name: 'ida',
      role: 'auditor',
    });
    const { page: auditorPage } = await openAs(auditor);
    await auditorPage.goto(`${world.url}/members`);
    await auditorPage.getByRole('button', { name: 'Show removed people (1)' }).waitFor();
    const buttons = auditorPage.getByRole('main').getByRole('button');
    expect(await buttons.allTextContents()).toEqual(['Show removed people (1)']);
    await auditorPage.goto(`${world.url}/webhooks`);
    await auditorPage.getByText(/^A webhook tells your own programs/).waitFor();
    expect(await buttons.count()).toBe(0);
    await auditorPage.goto(`${world.url}/settings`);
    expect(await auditorPage.getByLabel('An approval stays open for').isDisabled()).toBe(true);
    expect(await buttons.count()).toBe(0);
  });

  async function signInAgain(id: string) {
    const { url } = successfulBodyOf(await world.admin.post(`/v1/users/${id}/sign-in-links`));
    return signIn(url);
  }
});
