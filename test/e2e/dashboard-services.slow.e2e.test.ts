import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';

import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { WatchedPage } from '../browser/chromium.ts';
import { createSampleTools, mcpTemplate, startMcpServer } from '../support/mcp-server.ts';
import type { TestMcpServer } from '../support/mcp-server.ts';
import { needs } from '../support/needs.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import type { TestProvider } from '../support/oauth-provider.ts';
import type { Person } from '../support/people.ts';
import { templateWithTwoWays } from '../support/template.ts';
import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 740 };
const hostile = 'pay\u202Elap <img src=x onerror=alert(1)>\u200B';
const shownHostile = 'payU+202Elap <img src=x onerror=alert(1)>U+200B';

/**
 * Tests what an owner does with services and credentials. Each test continues where the previous
 * one stopped.
 */
describe.skipIf(!chromium.isAvailable)(`services in the dashboard${chromium.note}`, () => {
  let world: World;
  let provider: TestProvider;
  let server: TestMcpServer;
  let watched: WatchedPage;
  let page: Page;
  let mia: Person;
  let bot: Agent;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    provider = stack.use(await startTestProvider());
    provider.account = { sub: 'account-1', email: `mia${hostile}@example.com` };
    server = stack.use(await startMcpServer('stateless', createSampleTools()));
    world = stack.use(await startWorld({ EGRESS_ALLOW: [provider.host, server.host].join() }));
    const { url, admin, upstream } = world;
    successfulBodyOf(
      await admin.put('/v1/oauth-apps/mock', {
        client_id: 'gateway',
        client_secret: 'CANARY-client-secret',
        definition: { title: 'Mock', issuer: provider.issuer, hosts: [upstream.host] },
      }),
    );
    await publish(
      'notes',
      templateWithTwoWays({ server: `${upstream.url}/echo`, issuer: provider.issuer }),
    );
    await publish('issues', mcpTemplate('issues', server.url));
    successfulBodyOf(await admin.post('/v1/services', { template: 'issues', tier: 'org' }));
    mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    bot = await createAgent(url, mia, 'notes-bot');
    const browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: phone });
    ({ page } = watched);
    await signInAs(mia);
    return async () => {
      await stack.disposeAsync();
      // The person goes to the provider, which is another origin, so the browser fixture complains.
      const otherComplaints = watched.complaints.filter((each) => !each.includes(provider.issuer));
      if (otherComplaints.length > 0) throw new Error(otherComplaints.join('\n'));
    };
  });

  const publish = async (key: string, openapi: string, version = 1) => {
    const saved =
      version === 1
        ? await world.admin.post('/v1/templates', { openapi, tier: 'org' })
        : await world.admin.put(`/v1/templates/${key}?tier=org`, { openapi, version: version - 1 });
    successfulBodyOf(saved);
    successfulBodyOf(await world.admin.post(`/v1/templates/${key}/publish?tier=org`, { version }));
  };
  const signInAs = async ({ cookie }: { cookie: string }) => {
    const [name = '', value = ''] = cookie.split('=');
    // When another person signs in, an open page reloads itself, which would interrupt the test.
    await page.goto('about:blank');
    await watched.context.clearCookies();
    await watched.context.addCookies([{ name, value, url: world.url }]);
  };
  const open = (path: string) => page.goto(`${world.url}${path}`);
  const press = (name: string | RegExp) =>
    page.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name }).click();
  const pageText = async () => (await page.locator('main').textContent()) ?? '';
  const expectAccessible = async () => {
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
  };
  const openAction = async (action: string) => {
    await page.locator('summary', { hasText: action }).first().click();
    return page.getByRole('form', { name: `Try ${action}` });
  };
  const isFocused = (locator: Locator) =>
    locator.evaluate((element) => element === element.ownerDocument.activeElement);
  const lastHit = () => world.upstream.hits.at(-1);

  test('are connected from the request of an agent', async () => {
    const request = successfulBodyOf(
      await bot.post('/v1/requests', {
        kind: 'service',
        template: 'notes',
        reason: 'To file <b>notes</b>.',
      }),
    );
    await open('/services');
    await page.getByText('Asked for (1)').waitFor();
    expect(await pageText()).toContain('To file <b>notes</b>.');
    await page.getByRole('link', { name: /Connect Notes\?/ }).click();
    await page.waitForURL(`**/requests/${request.id}`);
    await page.getByLabel('Access token').check();
    await page.getByRole('textbox', { name: 'Access token' }).fill('CANARY-first');
    await press('Connect');
    await page.getByRole('link', { name: 'Open the service' }).click();
    await page.waitForURL('**/services/notes');
    await page.getByText('Ready', { exact: true }).waitFor();
    await expectAccessible();
  });

  test('can be tried by the person: a read, a write, and a deletion after a question', async () => {
    const hitsBefore = world.upstream.hits.length;
    const read = await openAction('list_notes');
    await read.getByLabel('author').fill('ann');
    await read.getByRole('button', { name: 'Run it' }).click();
    await page.getByText('List notes of ann', { exact: true }).waitFor();
    expect(lastHit()).toMatchObject({ method: 'GET', url: '/echo/notes?author=ann' });

    const write = await openAction('create_note');
    await write.getByRole('button', { name: 'Run it' }).click();
    await write.getByText('This must be given.').waitFor();
    await write.getByLabel('title').fill(hostile);
    await write.getByRole('button', { name: 'Run it' }).click();
    await page
      .getByText(/answered 200/)
      .nth(1)
      .waitFor();
    expect(JSON.parse(lastHit()?.body ?? '')).toEqual({ title: hostile });
    expect(await pageText()).toContain(shownHostile.slice(0, 40));
    expect(await pageText()).not.toContain('CANARY');
    expect(await page.locator('main :is(img, script)').count()).toBe(0);

    const deletion = await openAction('delete_notes');
    await deletion.getByRole('button', { name: 'Run it' }).click();
    await page.getByRole('group', { name: 'Delete all notes?' }).waitFor();
    expect(world.upstream.hits.length).toBe(hitsBefore + 2);
    await expectAccessible();
    await press('Yes, run it');
    await page.getByText('Delete all notes', { exact: true }).nth(1).waitFor();
    expect(lastHit()?.method).toBe('DELETE');
  });

  test('can be tried as an agent: nothing is sent, and the page shows what would happen and why', async () => {
    const hitsBefore = world.upstream.hits.length;
    const write = page.getByRole('form', { name: 'Try create_note' });
    await write.getByLabel('As').selectOption({ label: 'mia › notes-bot' });
    await press('See what would happen');
    await page.getByText('It would wait for an approval. mia can give it.').waitFor();
    await page.getByText('Nothing allows this yet, so a person is asked.').waitFor();
    expect(await pageText()).toContain('notes:create_note:*');
    await expectAccessible();

    await page.getByRole('switch', { name: 'Reads run at once' }).click();
    await page.getByText('Everything asks a person first, reading too').waitFor();
    expect(successfulBodyOf(await mia.get('/v1/services/notes')).auto_allow_reads).toBe(false);
    expect(world.upstream.hits.length).toBe(hitsBefore);
  });

  test('are upgraded to a newer version after the page has shown the differences', async () => {
    const rule = { identity_id: bot.id, effect: 'allow', pattern: 'notes:delete_notes:*' };
    successfulBodyOf(await mia.post('/v1/rules', rule));
    const document = templateWithTwoWays({
      server: `${world.upstream.url}/echo`,
      issuer: provider.issuer,
    });
    await publish('notes', document.replace(/ {4}delete: .*\n/, ''), 2);
    await open('/services/notes');
    await press('See what it changes');
    await page.getByText('Action delete_notes is gone').waitFor();
    await page.getByText('One permission allows nothing any more').waitFor();
    await expectAccessible();
    await press('Take version 2');
    await page.getByText('There is a newer version').waitFor({ state: 'detached' });
    expect(successfulBodyOf(await mia.get('/v1/services/notes')).template_version).toBe(2);
  });

  test('use secrets; a person can change the value, the hosts and the version', async () => {
    await open('/services/notes');
    await page.getByRole('link', { name: 'notes_token' }).click();
    const field = page.getByRole('textbox', { name: /New value of notes_token/ });
    await field.fill('CANARY-second');
    await expectAccessible();
    await press('Store it');
    await page.getByText('The new value is stored, as version 2.').waitFor();
    successfulBodyOf(
      await mia.post('/v1/actions/call', { service: 'notes', action: 'list_notes' }),
    );
    expect(lastHit()?.headers['authorization']).toBe('Bearer CANARY-second');

    await press('Hosts and description');
    await page.getByLabel('May be sent only to').fill(`${world.upstream.host}\napi.example.com`);
    await page.getByLabel('Description').fill(hostile);
    await press('Save');
    await page.getByText(shownHostile.slice(0, 3), { exact: false }).first().waitFor();
    expect(await pageText()).toContain(shownHostile);

    await press('Versions');
    await press(/^Take it again/);
    await page.getByText('Version 3, just now').waitFor();
    successfulBodyOf(
      await mia.post('/v1/actions/call', { service: 'notes', action: 'list_notes' }),
    );
    expect(lastHit()?.headers['authorization']).toBe('Bearer CANARY-first');
    await press('Close');

    await press('Delete…');
    await page.getByText('This service cannot be called any more:').waitFor();
    await expectAccessible();
    await press('Yes, delete');
    await page.getByText('No secret is stored yet').waitFor();
    await expectAccessible();
    expect(await pageText()).not.toContain('CANARY');
  });

  test('can use a secret that was stored in advance; its form says which field is wrong', async () => {
    await open('/services/credentials');
    await press('Add a secret');
    const form = page.getByRole('form', { name: 'A new secret' });
    await form.getByLabel('Name').fill('Deploy Key');
    await form.getByLabel('Value', { exact: true }).fill('CANARY-deploy');
    await press('Store it');
    await form.getByText(/^It must start with a letter/).waitFor();
    expect(await form.getByLabel('Name').getAttribute('aria-invalid')).toBe('true');
    expect(await isFocused(form.getByLabel('Name'))).toBe(true);
    await expectAccessible();
    await form.getByLabel('Name').fill('deploy_key');
    await form.getByLabel('May be sent only to').fill('api.example.com\nhttps://b.example.com/x');
    await press('Store it');
    await form.getByText(/^https:\/\/b\.example\.com\/x must be a host/).waitFor();
    await form.getByLabel('May be sent only to').fill('api.example.com');
    await press('Store it');
    await page.getByText('deploy_key is stored.').waitFor();
    await page.getByRole('heading', { name: 'deploy_key' }).waitFor();
    await expectAccessible();
    expect(await pageText()).not.toContain('CANARY');

    await press('Add a secret');
    await form.getByLabel('Name').fill('deploy_key');
    await form.getByText(/^There is a secret of this name/).waitFor();
    await press('Cancel');
    expect(await isFocused(page.getByRole('button', { name: 'Add a secret' }))).toBe(true);
    expect(
      successfulBodyOf(await mia.get('/v1/secrets')).items.map(
        ({ name, current_version: version }: { name: string; current_version: number }) => [
          name,
          version,
        ],
      ),
    ).toEqual([['deploy_key', 1]]);
  });

  test('show which credential is missing, and let the person enter it there', async () => {
    await open('/services');
    await page.getByText('Needs a secret').waitFor();
    await expectAccessible();
    await page.getByRole('link', { name: 'Enter it' }).click();
    await page.getByRole('textbox', { name: /The secret notes_token/ }).fill('CANARY-third');
    await expectAccessible();
    await press('Store it');
    await page.getByText('Ready', { exact: true }).waitFor();
  });

  test('use accounts, which can be refreshed, connected again and disconnected', async () => {
    await open('/services/new?template=notes');
    await page.getByLabel('An account at Mock').check();
    await press('Continue to Mock');
    await press('Continue to Mock');
    await page.getByRole('heading', { name: 'Notes is connected' }).waitFor();
    await open('/services/credentials?show=accounts');
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByText('at Mock', { exact: false }).waitFor();
    expect(await page.getByText('mock', { exact: true }).isVisible()).toBe(false);
    await page.getByText('Details', { exact: true }).click();
    await page.getByText('mock', { exact: true }).waitFor();
    expect(await page.locator('main :is(img, script)').count()).toBe(0);
    await page.getByText('What it may do').click();
    await page.getByText('Read notes').waitFor();
    await expectAccessible();
    await press('Refresh now');
    await page.getByText('The access was refreshed.').waitFor();
    await press('Connect again');
    await press('Continue to Mock');
    await page.waitForURL('**/services/credentials?show=accounts');

    await press('Disconnect…');
    await page.getByRole('group').getByText('This service cannot be called').waitFor();
    await press('Yes, disconnect');
    await page.getByText('No account is connected yet').waitFor();
    await open('/services/notes_2');
    await page.getByText('Needs an account').waitFor();
  });

  test('can be switched off, and disconnected after the page has named what stops', async () => {
    await open('/services/notes');
    await press('Switch it off');
    await page.getByRole('main').getByText('Switched off', { exact: true }).waitFor();
    await press('Switch it on');
    await page.getByText('Ready', { exact: true }).waitFor();
    await press('Disconnect…');
    await page.getByText('One permission names').waitFor();
    await expectAccessible();
    await press('Yes, disconnect');
    await page.waitForURL('**/services');
    await page.getByRole('link', { name: 'Issues' }).waitFor();
    expect((await mia.get('/v1/services/notes')).status).toBe(404);
  });

  test('show a changed tool of an MCP server, which an admin can accept', async () => {
    const at = server.tools.findIndex(({ name }) => name === 'list_issues');
    const tool = server.tools[at] as (typeof server.tools)[number];
    server.tools[at] = { ...tool, description: `Lists issues. ${hostile}` };
    await signInAs(world.admin);
    await open('/services/org/issues');
    await press('Ask the server now');
    await press(/Look at the difference/);
    await page.getByText('The server says now').waitFor();
    expect(await page.locator('main :is(img, script)').count()).toBe(0);
    await expectAccessible();
    await press('Accept it as it is now');
    await page.getByText('All its tools are accepted and unchanged.').waitFor();
  });

  test('cannot be changed by an auditor', async () => {
    const secret = {
      name: 'shared',
      value: 'CANARY-shared',
      tier: 'org',
      allowed_hosts: ['a.example'],
    };
    successfulBodyOf(await world.admin.post('/v1/secrets', secret));
    const auditor = await world.person({
      orgId: world.admin.orgId,
      name: 'audra',
      role: 'auditor',
    });
    await signInAs(auditor);
    await open('/services');
    await page.getByRole('link', { name: 'Issues' }).waitFor();
    expect(await page.getByRole('link', { name: 'Connect a service' }).count()).toBe(0);
    await expectAccessible();
    await open('/services/org/issues');
    await page.getByText('create_issue').first().click();
    await page.getByText('Auditors call nothing.').waitFor();
    expect(await page.getByRole('switch').isDisabled()).toBe(true);
    expect(await page.locator('main').getByRole('button').allTextContents()).toEqual([]);
    await open('/services/credentials');
    await page.getByRole('heading', { name: 'org/shared' }).waitFor();
    expect(await page.locator('main').getByRole('button').count()).toBe(0);
  });
});
