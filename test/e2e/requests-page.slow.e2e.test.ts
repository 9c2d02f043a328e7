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
import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent, World } from '../support/world.ts';
import { callToolByMcp } from './escalation/ways.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 740 };

/** Plays an agent's requests for a service on a phone, from the request to the first call. */
describe.skipIf(!chromium.isAvailable)(`an agent that asks for a service${chromium.note}`, () => {
  let world: World;
  let provider: TestProvider;
  let watched: WatchedPage;
  let page: Page;
  let mia: Person;
  let bot: Agent;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    provider = stack.use(await startTestProvider());
    world = stack.use(await startWorld({ EGRESS_ALLOW: provider.host }));
    const { url, admin, upstream } = world;
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

  const signInAs = async ({ cookie }: { cookie: string }) => {
    const [name = '', value = ''] = cookie.split('=');
    // When another person signs in, an open page reloads itself, which would interrupt the test.
    await page.goto('about:blank');
    await watched.context.clearCookies();
    await watched.context.addCookies([{ name, value, url: world.url }]);
  };
  const findButton = (name: string) => page.getByRole('button', { name, exact: true });
  const findHeading = (name: string) => page.getByRole('heading', { name, exact: true });
  const requestService = async (given: object): Promise<{ id: string; url: string }> => {
    const toolArguments = { operation: 'request_service', template: 'notes', ...given };
    const { body } = await callToolByMcp(world.url, bot.key, 'service_auth', toolArguments);
    expect(body.request, JSON.stringify(body)).toBeDefined();
    return { id: body.request.id, url: body.url };
  };
  /** Waits, as an agent does, until the request is closed. */
  const untilClosed = async (id: string) => {
    const toolArguments = { operation: 'service_status', request: id, wait: 30 };
    return (await callToolByMcp(world.url, bot.key, 'service_auth', toolArguments)).body;
  };
  const statusOf = async (id: string) => successfulBodyOf(await bot.get(`/v1/requests/${id}`));
  const callListNotes = (service: string) =>
    bot.post('/v1/actions/call', { service, action: 'list_notes' });

  test('calls the service after its person has entered a token', async () => {
    const { id, url } = await requestService({
      reason: 'To file the notes of <b>today</b>.',
      actions: ['list_notes', 'create_note'],
    });
    expect(url).toBe(`${world.url}/requests/${id}`);
    const statusAnswer = untilClosed(id);
    await page.goto(url);
    await findHeading('Connect Notes?').waitFor();
    await page.getByRole('switch', { name: 'Reads run at once' }).waitFor();
    const text = (await page.locator('article').textContent()) ?? '';
    for (const part of [
      'notes-bot',
      'To file the notes of <b>today</b>.',
      world.upstream.host,
      'List notes',
      'Write note …',
    ]) {
      expect(text).toContain(part);
    }
    await page.getByLabel('Access token').check();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);

    const value = `CANARY-${randomUUID()}`;
    await page.getByRole('textbox', { name: 'Access token' }).fill(value);
    await findButton('Connect').click();
    await findHeading('Notes is connected').waitFor();
    await page.getByText('has been told').waitFor();

    expect(JSON.stringify(await statusAnswer)).toContain('ready');
    const service = successfulBodyOf(await mia.get('/v1/services/notes'));
    await expect
      .poll(() => statusOf(id))
      .toMatchObject({ status: 'ready', service_id: service.id });
    successfulBodyOf(await callListNotes('notes'));
    expect(world.upstream.hits.at(-1)?.headers['authorization']).toBe(`Bearer ${value}`);
    await page.reload();
    await findHeading('Notes is connected').waitFor();
    await page.getByText('There is nothing left to do here').waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
  });

  test('calls the service after its person has connected an account', async () => {
    const { id, url } = await requestService({
      name: 'notes_of_account',
      reason: 'By your account.',
    });
    await page.goto(url);
    await page.getByLabel('An account at Mock').check();
    await findButton('Continue to Mock').click();
    await findButton('Continue to Mock').click();
    await findHeading('Notes is connected').waitFor();
    expect(page.url()).toBe(url);

    await expect.poll(() => statusOf(id)).toMatchObject({ status: 'ready' });
    successfulBodyOf(await callListNotes('notes_of_account'));
    expect(world.upstream.hits.at(-1)?.headers['authorization']).toMatch(/^Bearer CANARY-access/);
  });

  test('does not get an account that was connected before, if its person fails to connect another account', async () => {
    const { id, url } = await requestService({
      name: 'notes_refused',
      reason: 'By another account.',
    });
    await page.goto(url);
    await page.getByLabel('An account at Mock').check();
    await page.getByLabel('Another account').check();
    await findButton('Continue to Mock').click();
    await page.getByText('Kept as').waitFor();
    provider.changeAnswer = (response) =>
      Object.assign(response, { statusCode: 400, body: { error: 'invalid_grant' } });
    await findButton('Continue to Mock').click();
    await page.getByRole('alert').waitFor();
    provider.changeAnswer = null;
    await page.getByRole('link', { name: 'Try again' }).click();

    for (const attempt of ['at once', 'after a reload']) {
      await page.getByText('No account was connected').waitFor();
      expect(await page.getByLabel('Another account').isChecked(), attempt).toBe(true);
      expect(await findButton('Connect').count(), attempt).toBe(0);
      await page.reload();
    }
    expect(await statusOf(id)).toMatchObject({ status: 'open' });
    await page.getByLabel('ann@example.com').check();
    await findButton('Connect').click();
    await findHeading('Notes is connected').waitFor();
    await expect.poll(() => statusOf(id)).toMatchObject({ service: 'notes_refused' });
  });

  test('gets a service with another name, if rules exist for the requested name', async () => {
    const allow = { identity_id: mia.id, effect: 'allow', pattern: 'old_notes:*:*' };
    successfulBodyOf(await mia.post('/v1/rules', allow));
    const { id, url } = await requestService({ name: 'old_notes', reason: 'As before.' });
    await page.goto(url);
    await page.getByLabel('Access token').check();
    await page.getByLabel('Name', { exact: true }).fill('old_notes');
    await page.getByText('old_notes:*:*').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await page.getByLabel('Name', { exact: true }).fill('old_notes_2');
    await page.getByText('old_notes:*:*').waitFor({ state: 'detached' });
    await page.reload();
    await page.getByLabel('Access token').check();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('old_notes_2');
    successfulBodyOf(await bot.post(`/v1/requests/${id}/cancel`));
  });

  test('gets only a service that its person has seen, even if the template changes meanwhile', async () => {
    const { id, url } = await requestService({ name: 'notes_changed', reason: 'With care.' });
    await page.goto(url);
    await page.getByLabel('Access token').check();
    const { admin, upstream } = world;
    const openapi = templateWithTwoWays({
      server: `${upstream.url}/next`,
      issuer: provider.issuer,
    });
    successfulBodyOf(await admin.put('/v1/templates/notes?tier=org', { openapi, version: 1 }));
    successfulBodyOf(await admin.post('/v1/templates/notes/publish?tier=org', { version: 2 }));
    await findButton('Connect').click();
    await page.getByText('This service was changed while you looked at it').waitFor();
    expect(await statusOf(id)).toMatchObject({ status: 'open' });
    await findButton('Show it as it is now').click();
    await page.getByText('Look at it again').waitFor();
    await findButton('Connect').click();
    await findHeading('Notes is connected').waitFor();
    expect(successfulBodyOf(await mia.get('/v1/services/notes_changed'))).toMatchObject({
      template_version: 2,
    });
  });

  test('cannot answer its own request, of whichever kind, and neither can the agent of an admin', async () => {
    const adminsBot = await createAgent(world.url, world.admin, 'admins-bot');
    const requestBodies = [
      { kind: 'secret', name: 'own_key' },
      { kind: 'connection', provider: 'mock', name: 'own_mail' },
    ];
    for (const requestBody of requestBodies) {
      const { id } = successfulBodyOf(await bot.post('/v1/requests', requestBody));
      for (const agent of [bot, adminsBot]) {
        expect((await agent.post(`/v1/requests/${id}/decline`, {})).status).toBe(403);
        expect((await agent.post(`/v1/provide/${id}`, { value: 'x' })).status).toBe(403);
      }
      expect(await statusOf(id)).toMatchObject({ status: 'open' });
      successfulBodyOf(await bot.post(`/v1/requests/${id}/cancel`));
    }
  });

  test('is told that its person has declined, and the reason', async () => {
    const { id, url } = await requestService({ name: 'notes_declined', reason: 'Once more.' });
    await page.goto(url);
    await findButton('Decline…').click();
    await page.getByLabel(/^Why not/).fill('Not now');
    await page.keyboard.press('Enter');
    await findHeading('Notes was declined').waitFor();
    await page.getByText('Not now').waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    expect(await statusOf(id)).toMatchObject({ status: 'declined', decline_reason: 'Not now' });
  });

  test('needs an admin if the provider is not set up, so its user asks the admins', async () => {
    await page.goto(`${world.url}/services/new?template=gmail`);
    await findButton('Ask an admin').click();
    await page.getByText('The admins are asked').waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    const [requestToAdmins] = successfulBodyOf(
      await world.admin.get('/v1/requests?status=open'),
    ).items;
    expect(requestToAdmins).toMatchObject({
      tier: 'org',
      template: { key: 'gmail' },
      requester: { id: mia.id },
    });
    await page.getByText(requestToAdmins.url).waitFor();

    await page.goto(requestToAdmins.url);
    await page.getByText('It waits for an admin').waitFor();
    await signInAs(world.admin);
    await page.goto(requestToAdmins.url);
    await page.getByRole('heading', { name: /set up Google/ }).waitFor();
    await signInAs(mia);
  });

  test('has a request that only its own user can answer', async () => {
    const ben = await world.person({ orgId: mia.orgId, name: 'ben', role: 'member' });
    const zoe = await createAgent(world.url, ben, 'zoe-bot');
    const request = successfulBodyOf(
      await zoe.post('/v1/requests', { kind: 'service', template: 'notes' }),
    );
    await page.goto(request.url);
    await findHeading('This request is for somebody else').waitFor();
    const text = (await page.locator('main').textContent()) ?? '';
    expect(text).toContain('ben');
    expect(text).not.toContain('Notes');
    expect(await findAccessibilityProblems(page)).toEqual([]);

    await page.goto(`${world.url}/requests/${randomUUID()}`);
    await findHeading('There is no such request').waitFor();

    await signInAs(world.admin);
    await page.goto(request.url);
    await page.getByText('It waits for ben').waitFor();
    expect(await findButton('Connect').count()).toBe(0);

    await signInAs(ben);
    await page.goto(request.url);
    await findButton('Decline…').waitFor();
    successfulBodyOf(await zoe.post(`/v1/requests/${request.id}/cancel`));
    await findHeading('Notes is no longer asked for').waitFor();

    // When another person signs in, an open page reloads itself, which would interrupt the test.
    await page.goto('about:blank');
    await watched.context.clearCookies();
    await page.goto(request.url);
    await page.getByLabel('E-mail address').waitFor();
    const { searchParams } = new URL(page.url());
    expect(searchParams.get('return_to')).toBe(new URL(request.url).pathname);
  });
});
