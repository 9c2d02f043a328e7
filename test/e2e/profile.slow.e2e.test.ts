import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import { findAccessibilityProblems, findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { OpenBrowser, WatchedPage } from '../browser/chromium.ts';
import { createCaller } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { createAgent, startWorld, successfulBodyOf } from '../support/world.ts';
import type { World } from '../support/world.ts';

const chromium = needs('chromium');
const desktop = { width: 1280, height: 900 };
const phone = { width: 360, height: 740 };
const password = 'CANARY-battery-staple';

/**
 * Runs before the scripts of a page, and replaces the browser's notifications. It records what is
 * asked and shown, and grants the permission.
 */
const standInForNotifications = `
  window.said = [];
  window.isLookedAt = true;
  document.hasFocus = () => isLookedAt;
  window.Notification = class extends EventTarget {
    static permission = sessionStorage.getItem('permission') ?? 'default';
    static async requestPermission() {
      said.push('asked');
      sessionStorage.setItem('permission', 'granted');
      return (Notification.permission = 'granted');
    }
    constructor(title) {
      super();
      said.push(title);
      window.press = () => this.dispatchEvent(new Event('click'));
    }
    close() {}
  };`;

/** Each test continues on the page where the previous test stopped. */
describe.skipIf(!chromium.isAvailable)(`the profile page${chromium.note}`, () => {
  let world: World;
  let browser: OpenBrowser;
  let watched: WatchedPage;
  let page: Page;
  let url: string;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    world = stack.use(await startWorld());
    browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: desktop, colorScheme: 'light' });
    ({ page } = watched);
    ({ url } = world);
    return async () => {
      await stack.disposeAsync();
      if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
    };
  });

  const background = (shownPage: Page) =>
    shownPage.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const signIn = async (shownPage: Page) => {
    await shownPage.getByLabel('E-mail address').fill('ann@example.com');
    await shownPage.getByLabel('Password').fill(password);
    await shownPage.getByRole('button', { name: 'Sign in' }).click();
    await shownPage.getByRole('heading', { name: 'Profile' }).waitFor();
  };

  test('is opened after sign-in, when a link to it led to the sign-in page', async () => {
    const { url: link } = successfulBodyOf(
      await world.admin.post('/v1/users/invitations', { email: 'ann@example.com', role: 'member' }),
    );
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Save password' }).click();
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail address').waitFor();

    await page.goto(`${url}/profile`);
    await signIn(page);
    expect(page.url()).toBe(`${url}/profile`);
  });

  test('has no accessibility problem that axe finds, on a desktop and a phone', async () => {
    await page.getByText('This one').waitFor();
    for (const viewport of [desktop, phone]) {
      await page.setViewportSize(viewport);
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    }
    await page.setViewportSize(desktop);
    await page.emulateMedia({ colorScheme: 'light' });
  });

  test('sets the display name, which is shown beside the handle everywhere', async () => {
    await page.getByLabel('Display name').fill('An\u200bn');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Display name').fill('Ann Berg');
    await page.getByRole('button', { name: 'Save name' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();

    const bot = await createAgent(url, await callerOf(watched), 'bot');
    const me = successfulBodyOf(await bot.get('/v1/identities/me'));
    expect(me).toMatchObject({ path: ['ann', 'bot'], display_name: 'Ann Berg' });
    // The audit log records events a moment after they happened.
    const changes = '/v1/audit?type=identity.changed';
    const readChanges = async () => successfulBodyOf(await world.admin.get(changes));
    await expect.poll(async () => (await readChanges()).items.length).toBe(1);
    const {
      items: [own],
      people,
    } = await readChanges();
    expect(own.identity).toEqual({ id: own.user_id, kind: 'user', name: 'ann', path: ['ann'] });
    expect(people).toEqual([{ user_id: own.user_id, display_name: 'Ann Berg' }]);
    expect(successfulBodyOf(await world.admin.get('/v1/audit/verify'))).toMatchObject({
      valid: true,
    });
    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('dialog').getByText('Ann Berg (ann)').waitFor();
    await page.keyboard.press('Escape');
  });

  test('ends another session, whose page then is the sign-in page', async () => {
    const other = await browser.newPage({ viewport: phone });
    await other.page.goto(`${url}/profile`);
    await signIn(other.page);

    await page.reload();
    await page.getByRole('button', { name: /^End the session of/ }).click();
    await page.getByText('You are signed in nowhere else.').waitFor();
    await other.page.reload();
    await other.page.getByLabel('E-mail address').waitFor();
    expect(await findAccessibilityProblems(other.page)).toEqual([]);
    await other.context.close();
  });

  test('changes the theme at once, also in other tabs and for the next load', async () => {
    const light = await background(page);
    await page.getByRole('radio', { name: 'Dark' }).check();
    await expect.poll(() => background(page)).not.toBe(light);
    const dark = await background(page);

    const tab = await watched.context.newPage();
    await tab.goto(`${url}/profile`, { waitUntil: 'commit' });
    await tab.getByRole('heading', { name: 'Profile' }).waitFor();
    expect(await background(tab)).toBe(dark);
    expect(await findAccessibilityProblems(tab)).toEqual([]);
    await tab.getByRole('radio', { name: /System/ }).check();
    await expect.poll(() => background(page)).toBe(light);
    await tab.close();
  });

  test('changes the theme of the gateway’s own pages too, before the sign-in and without scripts', async () => {
    const light = await background(page);
    await page.getByRole('radio', { name: 'Dark' }).check();
    await expect.poll(() => background(page)).not.toBe(light);
    const dark = await background(page);
    const [themeCookie] = (await watched.context.cookies()).filter(
      ({ name }) => name === 'gateway_theme',
    );
    const stranger = await browser.newPage({ javaScriptEnabled: false, colorScheme: 'light' });
    const schemeOf = (path: string) =>
      stranger.page.goto(url + path).then(() => background(stranger.page));

    expect(await schemeOf('/sign-in')).toBe(light);
    await stranger.context.addCookies([themeCookie ?? expect.unreachable('no cookie')]);
    for (const path of ['/sign-in', '/nowhere', '/oauth/consent?id=x', '/oauth/authorize'])
      expect(await schemeOf(path), path).toBe(dark);
    expect(stranger.complaints).toEqual([]);
    await stranger.context.close();
    await page.getByRole('radio', { name: /System/ }).check();
    await expect.poll(() => background(page)).toBe(light);
    expect((await watched.context.cookies()).map(({ name }) => name)).not.toContain(
      'gateway_theme',
    );
  });

  test('turns notifications of waiting approvals on and off, and asks the browser only when they are turned on', async () => {
    const other = await browser.newPage({ viewport: phone });
    const { page: own, context, complaints } = other;
    // Headless Chromium can ask nobody for a permission, and shows no notifications.
    await own.addInitScript(standInForNotifications);
    await own.goto(`${url}/profile`);
    await signIn(own);
    const section = own.getByRole('region', { name: 'Notifications' });
    await section.getByText('They are off.').waitFor();
    expect(await own.evaluate('said')).toEqual([]);
    await section.getByRole('button', { name: 'Turn on notifications' }).click();
    await section.getByText('They are on.').waitFor();
    expect(await own.evaluate('said')).toEqual(['asked', 'Notifications are on']);
    expect(await findProblemsInBothSchemes(own)).toEqual([]);
    expect(await own.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);

    const ann = await callerOf(other);
    const bot = await createAgent(url, ann, 'night-bot');
    const suspendCall = async (note: string) => {
      const to = `${world.upstream.url}/notes/${note}`;
      const call = { service: 'http', method: 'POST', url: to };
      return successfulBodyOf(await bot.post('/v1/actions/call', call)).approval_id;
    };
    await own.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
    const queue = own.getByRole('link', { name: /Approvals/ });
    await suspendCall('seen');
    await queue.getByText('1').waitFor();
    await own.evaluate('isLookedAt = false');
    const id = await suspendCall('unseen');
    await queue.getByText('2').waitFor();
    expect(await own.evaluate('said.slice(2)')).toEqual(['night-bot asks']);
    await own.evaluate('press()');
    await own.waitForURL(`${url}/approvals/${id}`);

    await own.goto(`${url}/profile`);
    await section.getByRole('button', { name: 'Turn off notifications' }).click();
    await section.getByText('They are off.').waitFor();
    await own.evaluate('isLookedAt = false');
    await own.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
    await suspendCall('off');
    await queue.getByText('3').waitFor();
    expect(await own.evaluate('said')).toEqual([]);

    await own.evaluate("sessionStorage.setItem('permission', 'denied')");
    await own.reload();
    await section.getByText('This browser blocks notifications').waitFor();
    expect(await section.getByRole('button').count()).toBe(0);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('is not shown at an unknown address, where the dashboard says that there is no page', async () => {
    const tab = await watched.context.newPage();
    for (const path of ['/approvals/xyz', '/agents/nope', '/requests/x', '/foo', '/v1/nothing']) {
      await tab.goto(url + path);
      await tab.getByRole('heading', { name: 'There is no page at this address' }).waitFor();
      expect(await findProblemsInBothSchemes(tab)).toEqual([]);
      await tab.emulateMedia({ colorScheme: 'light' });
    }
    await tab.getByRole('link', { name: 'Go to Home' }).click();
    await tab.waitForURL(`${url}/`);
    await tab.close();
  });

  test('leads to the form for a new password, and back', async () => {
    await page.getByRole('link', { name: 'Change password' }).click();
    await page.getByRole('heading', { name: 'Change your password' }).waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await page.getByRole('link', { name: 'Not now' }).click();
    await page.waitForURL(`${url}/profile`);
  });
});

async function callerOf({ page, context }: WatchedPage) {
  const session = (await context.cookies()).find(({ name }) => name === 'gateway_session');
  const { origin } = new URL(page.url());
  return createCaller(origin, { cookie: `gateway_session=${session?.value}`, origin });
}
