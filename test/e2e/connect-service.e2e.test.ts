import { randomUUID } from 'node:crypto';

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';

import { findAccessibilityProblems, findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { WatchedPage } from '../browser/chromium.ts';
import { needs } from '../support/needs.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import type { TestProvider } from '../support/oauth-provider.ts';
import type { Person } from '../support/people.ts';
import { templateWithTwoWays } from '../support/template.ts';
import { successfulBodyOf, startWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 740 };

/**
 * Connects a service on a screen of a phone's size: with a token, and with an account at a
 * provider.
 */
describe.skipIf(!chromium.isAvailable)(`a person who connects a service${chromium.note}`, () => {
  let world: World;
  let provider: TestProvider;
  let watched: WatchedPage;
  let page: Page;
  let mia: Person;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    provider = stack.use(await startTestProvider());
    world = stack.use(await startWorld({ EGRESS_ALLOW: provider.host }));
    const { admin, upstream } = world;
    successfulBodyOf(
      await admin.put('/v1/oauth-apps/mock', {
        client_id: 'gateway',
        client_secret: 'CANARY-client-secret',
        definition: { title: 'Mock', issuer: provider.issuer, hosts: ['api.example.com'] },
      }),
    );
    const openapi = templateWithTwoWays({ server: upstream.url, issuer: provider.issuer });
    successfulBodyOf(await admin.post('/v1/templates', { openapi, tier: 'org' }));
    successfulBodyOf(await admin.post('/v1/templates/notes/publish?tier=org', { version: 1 }));
    mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    const browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: phone });
    ({ page } = watched);
    return async () => {
      await stack.disposeAsync();
      // The person goes to the provider, which is another origin, so the browser fixture complains.
      const otherComplaints = watched.complaints.filter((each) => !each.includes(provider.issuer));
      if (otherComplaints.length > 0) throw new Error(otherComplaints.join('\n'));
    };
  });

  const signInAs = async ({ cookie }: { cookie: string }) => {
    const [name = '', value = ''] = cookie.split('=');
    // When another person signs in, an open page reloads itself, which would interrupt the test.
    await page.goto('about:blank');
    await watched.context.clearCookies();
    await watched.context.addCookies([{ name, value, url: world.url }]);
  };
  const openPage = (path: string) => page.goto(world.url + path);
  const findButton = (name: string) => page.getByRole('button', { name, exact: true });
  const expectPhoneWidth = async () =>
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);

  test('finds the service with a search word, enters a token with the keyboard, and calls the service', async () => {
    await signInAs(mia);
    await openPage('/services/new');
    for (const [word, title] of [
      ['email', 'Gmail'],
      ['chat', 'Slack'],
    ] as const) {
      await page.getByLabel('Which one?').fill(word);
      await page.getByRole('link', { name: new RegExp(`^${title}`) }).waitFor();
    }
    await page.getByLabel('Which one?').fill('notes testing');
    await page.getByText('1 service', { exact: true }).waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.getByRole('link', { name: /^Notes/ }).click();

    await page.getByRole('heading', { name: 'Connect Notes' }).waitFor();
    await page.getByLabel('Access token').check();
    await page.getByRole('switch', { name: 'Reads run at once' }).uncheck();
    await page.getByText('Everything asks you first, reading too.').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await expectPhoneWidth();

    const value = `CANARY-${randomUUID()}`;
    await page.getByRole('textbox', { name: 'Access token' }).fill(value);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Notes is connected' }).waitFor();
    expect(await page.content()).not.toContain(value);
    expect(await findAccessibilityProblems(page)).toEqual([]);

    const service = successfulBodyOf(await mia.get('/v1/services/notes'));
    expect(service).toMatchObject({ status: 'ready', auto_allow_reads: false, tier: 'user' });
    successfulBodyOf(
      await mia.post('/v1/actions/call', { service: 'notes', action: 'list_notes' }),
    );
    expect(world.upstream.hits.at(-1)?.headers['authorization']).toBe(`Bearer ${value}`);
    expect(successfulBodyOf(await mia.get('/v1/secrets')).items).toMatchObject([
      { name: 'notes_token', allowed_hosts: [world.upstream.host] },
    ]);
  });

  test('need not enter the token again if the name of the service was taken', async () => {
    await openPage('/services/new?template=notes');
    await page.getByLabel('Access token').check();
    await page.getByLabel('Enter another').check();
    await page.getByRole('textbox', { name: 'Access token' }).fill('CANARY-another');
    await page.getByLabel('Name', { exact: true }).fill('notes');
    await findButton('Connect').click();
    await page.getByRole('alert').getByText('choose another name').waitFor();
    expect(await page.getByLabel('Use notes_token_2, which is stored already').isChecked()).toBe(
      true,
    );
    await page.getByLabel('Name', { exact: true }).fill('notes_again');
    await findButton('Connect').click();
    await page.getByRole('heading', { name: 'Notes is connected' }).waitFor();
    expect(successfulBodyOf(await mia.get('/v1/services/notes_again')).credentials).toMatchObject({
      secrets: { token: 'notes_token_2' },
    });
  });

  test('is offered the stored token first, and a new token is stored beside it', async () => {
    await openPage('/services/new?template=notes');
    await page.getByLabel('Access token').check();
    await page.getByLabel('Use notes_token, which is stored already').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('notes_2');
    await findButton('Connect').click();
    await page.getByRole('heading', { name: 'Notes is connected' }).waitFor();

    const names = successfulBodyOf(await mia.get('/v1/secrets')).items.map(
      ({ name, current_version: version }: Record<string, unknown>) => [name, version],
    );
    expect(names.toSorted()).toEqual([
      ['notes_token', 1],
      ['notes_token_2', 1],
    ]);
  });

  test('goes to the provider and comes back to the same page, where the service is connected', async () => {
    await openPage('/services/new?template=notes');
    await page.getByLabel('An account at Mock').check();
    await page.getByLabel('Name', { exact: true }).fill('by_account');
    await findButton('Continue to Mock').click();
    await findButton('Continue to Mock').click();

    await page.getByRole('heading', { name: 'Notes is connected' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/services/new');
    const service = successfulBodyOf(await mia.get('/v1/services/by_account'));
    expect(service).toMatchObject({ status: 'ready', credentials: { connection: 'by_account' } });
    successfulBodyOf(
      await mia.post('/v1/actions/call', { service: 'by_account', action: 'list_notes' }),
    );
    expect(world.upstream.hits.at(-1)?.headers['authorization']).toMatch(/^Bearer CANARY-access/);

    // From now on the page offers the account, and the person need not go to the provider.
    await openPage('/services/new?template=notes');
    await page.getByLabel(/ann@example\.com/).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('once_more');
    await findButton('Connect').click();
    await page.getByRole('heading', { name: 'Notes is connected' }).waitFor();
  });

  test('comes back without an account if the provider refuses, and can try again', async () => {
    await openPage('/services/new?template=notes');
    await page.getByLabel('Another account').check();
    await page.getByLabel('Name', { exact: true }).fill('refused');
    await findButton('Continue to Mock').click();
    await findButton('Continue to Mock').waitFor();
    provider.changeAnswer = (response) =>
      Object.assign(response, { statusCode: 400, body: { error: 'invalid_grant' } });
    await findButton('Continue to Mock').click();
    await page.getByRole('alert').waitFor();
    provider.changeAnswer = null;
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.getByText('No account was connected').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('refused');
    await findButton('Continue to Mock').waitFor();
    expect((await mia.get('/v1/services/refused')).status).toBe(404);
  });

  test('can ask an admin to set up the provider, and an admin can set it up on the same page', async () => {
    await openPage('/services/new?template=gmail');
    await findButton('Ask an admin').waitFor();
    expect(await findButton('Connect').count()).toBe(0);
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await findButton('Ask an admin').click();
    await page.getByText('The admins are asked').waitFor();
    const openRequests = successfulBodyOf(await world.admin.get('/v1/requests?status=open')).items;
    expect(openRequests).toMatchObject([{ tier: 'org', template: { key: 'gmail' } }]);

    await signInAs(world.admin);
    await openPage('/services/new?template=gmail');
    await page.getByRole('heading', { name: /set up Google/ }).waitFor();
    await page.getByText(`${world.url}/v1/connections/callback/google`).waitFor();
    const link = page.getByRole('link', { name: /console\.cloud\.google\.com/ });
    expect(await link.getAttribute('rel')).toContain('noopener');
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await expectPhoneWidth();
    await page.getByLabel('Client ID').fill('client-of-google');
    await page.getByRole('textbox', { name: 'Client secret' }).fill('CANARY-google');
    await findButton('Save and go on').click();
    await findButton('Continue to Google').waitFor();
    const app = successfulBodyOf(await world.admin.get('/v1/oauth-apps/google'));
    expect(app).toMatchObject({ source: 'org', client_id: 'client-of-google' });
  });
});
