import { randomUUID } from 'node:crypto';

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';

import { findAccessibilityProblems } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { WatchedPage } from '../browser/chromium.ts';
import type { Caller } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { callToolByMcp } from './escalation/ways.ts';
import { openEvents } from '../support/events.ts';
import type { Upstream } from '../support/upstream.ts';
import { createAgent, successfulBodyOf, startWorld } from '../support/world.ts';
import type { Agent } from '../support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 740 };

/**
 * Plays a secret request on a phone, from the agent's request to the first call that uses the
 * secret.
 */
describe.skipIf(!chromium.isAvailable)(`a person who is asked for a secret${chromium.note}`, () => {
  const value = `CANARY-${randomUUID()}`;
  let url: string;
  let upstream: Upstream;
  let watched: WatchedPage;
  let page: Page;
  let admin: Caller;
  let cookie: string;
  let bot: Agent;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    const world = stack.use(await startWorld());
    ({ url, upstream, admin } = world);
    ({ cookie } = world.admin);
    const browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: phone });
    ({ page } = watched);
    const [name = '', session = ''] = cookie.split('=');
    await watched.context.addCookies([{ name, value: session, url }]);
    bot = await createAgent(url, admin, 'deploy-bot');
    return async () => {
      await stack.disposeAsync();
      if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
    };
  });

  const requestSecret = async (given: object): Promise<{ provide_url: string; id: string }> => {
    const toolArguments = { operation: 'request_secret', ...given };
    const { body } = await callToolByMcp(url, bot.key, 'service_auth', toolArguments);
    expect(body.request, JSON.stringify(body)).toBeDefined();
    return body.request;
  };
  const expectPhoneWidth = async () =>
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
  const storeSecret = () => page.getByRole('button', { name: 'Store the secret' }).click();

  test('sees the requester, the purpose and the hosts, corrects the hosts, and enters the value', async () => {
    const types = 'secret.requested,secret.provided';
    await using events = await openEvents(url, { cookie }, types);
    const requestWithHiddenText = {
      operation: 'request_secret',
      name: 'notes_key',
      reason: 'For \u202ehidden.',
    };
    const refused = await callToolByMcp(url, bot.key, 'service_auth', requestWithHiddenText);
    expect(refused.outcome).toBe('invalid_params');
    const { id, provide_url: link } = await requestSecret({
      name: 'notes_key',
      reason: 'To keep the release notes. Not <b>bold</b>.',
      allowed_hosts: ['notes.example', 'EVIL.example'],
    });
    expect(link.startsWith(`${url}/provide/`)).toBe(true);
    await page.goto(link);

    await page.getByRole('heading', { name: 'Enter notes_key' }).waitFor();
    const text = (await page.locator('article').textContent()) ?? '';
    for (const part of ['deploy-bot', 'asks you for a secret', 'Not <b>bold</b>']) {
      expect(text).toContain(part);
    }
    const hosts = page.getByLabel('May be sent only to');
    expect(await hosts.inputValue()).toBe('notes.example\nevil.example');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await expectPhoneWidth();

    await hosts.fill(`https://${upstream.host}/`);
    await page.getByLabel('The secret').fill(value);
    await storeSecret();
    await page.getByRole('alert').getByText('without scheme, path or wildcard').waitFor();
    await hosts.fill(upstream.host);
    await storeSecret();

    await page.getByRole('heading', { name: 'The secret is stored' }).waitFor();
    const pageText = (await page.locator('main').textContent()) ?? '';
    const listEventData = () =>
      types.split(',').flatMap((type) => events.of(type).map((event) => event.data));
    await expect.poll(listEventData).toMatchObject([
      { request_id: id, name: 'notes_key', requested_by: { name: 'deploy-bot' } },
      { request_id: id, name: 'notes_key', secret_id: expect.any(String) },
    ]);
    expect(JSON.stringify(listEventData())).not.toMatch(
      new RegExp(`CANARY|${link.split('/').at(-1)}`),
    );
    for (const part of ['deploy-bot', 'notes_key', upstream.host]) expect(pageText).toContain(part);
    expect(await page.content()).not.toContain('CANARY');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await expectPhoneWidth();

    await page.goto(link);
    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
  });

  test('gives the agent a secret that the agent can use, but not read', async () => {
    const call = {
      service: 'http',
      method: 'GET',
      url: `${upstream.url}/notes`,
      secrets: [{ name: 'notes_key', in: 'header', key: 'x-key' }],
    };
    const raisedApproval = successfulBodyOf(await bot.post('/v1/actions/call', call));
    expect(raisedApproval.permission_keys).toContain(`secret:notes_key:${upstream.host}`);
    successfulBodyOf(
      await admin.post(`/v1/approvals/${raisedApproval.approval_id}/resolve`, {
        resolution: 'allow',
      }),
    );
    await expect.poll(() => upstream.hits.length).toBe(1);
    expect(upstream.hits[0]?.headers['x-key']).toBe(value);
    // The agent sees the names of the secrets that it may use, but cannot change these secrets.
    const listedSecrets = successfulBodyOf(await bot.get('/v1/secrets')).items;
    expect(listedSecrets.map(({ name }: { name: string }) => name)).toContain('notes_key');
    expect(JSON.stringify(listedSecrets)).not.toContain(value);
    expect((await bot.get('/v1/connections')).status).toBe(200);
    expect((await bot.get(`/v1/secrets/${listedSecrets[0].id}`)).body.error).toBe(
      'insufficient_scope',
    );
  });

  test('fills in one field for each part of a secret that a template uses', async () => {
    const template = 'zoom';
    const detail = successfulBodyOf(await admin.get(`/v1/templates/${template}`));
    const ways: { parts?: { name: string; label: string; secret: boolean }[] }[] =
      detail.ways.flat();
    const parts = ways.find((each) => each.parts !== undefined)?.parts ?? [];
    expect(parts.length).toBeGreaterThan(1);
    const { provide_url: link } = await requestSecret({ name: 'zoom_app', template });
    await page.goto(link);

    for (const { label, secret, name } of parts) {
      const field = page.getByLabel(label, { exact: true });
      expect(await field.getAttribute('type')).toBe(secret ? 'password' : 'text');
      await field.fill(`${value}-${name}`);
    }
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await expectPhoneWidth();
    const sentRequest = page.waitForRequest((request) => request.method() === 'POST');
    await storeSecret();
    const body = JSON.parse((await sentRequest).postData() ?? '{}');
    expect(JSON.parse(body.value)).toEqual(
      Object.fromEntries(parts.map(({ name }) => [name, `${value}-${name}`])),
    );
    await page.getByRole('heading', { name: 'The secret is stored' }).waitFor();
    expect(await page.content()).not.toContain('CANARY');
  });

  test('can decline on the page where the secret is entered, and the agent reads the reason', async () => {
    const { id, provide_url: link } = await requestSecret({ name: 'not_this_one' });
    await page.goto(link);
    await page.getByLabel('The secret').fill(value);
    await page.getByRole('button', { name: 'Decline…' }).click();
    await page.getByLabel('Why not?').fill('Use the one of staging.');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await expectPhoneWidth();
    await page.getByLabel('Why not?').press('Enter');

    await page.getByRole('heading', { name: 'the secret not_this_one was declined' }).waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    const answer = { status: 'declined', decline_reason: 'Use the one of staging.' };
    expect(successfulBodyOf(await bot.get(`/v1/requests/${id}`))).toMatchObject(answer);
    const names = successfulBodyOf(await bot.get('/v1/secrets')).items;
    expect(JSON.stringify(names)).not.toContain('not_this_one');
    await page.goto(link);
    await page.getByText('was declined or taken back').waitFor();
  });

  test('sees an explanation when a link is incomplete, or when the secret was stored meanwhile', async () => {
    const { provide_url: link } = await requestSecret({ name: 'taken_meanwhile', tier: 'org' });
    await page.goto(link.slice(0, -1));
    await page.getByRole('heading', { name: 'This link is not for you' }).waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);

    await page.goto(link);
    await page.getByText('a secret of your organisation').waitFor();
    const body = { name: 'taken_meanwhile', tier: 'org', value, allowed_hosts: ['a.example'] };
    successfulBodyOf(await admin.post('/v1/secrets', body));
    await page.getByLabel('May be sent only to').fill('b.example');
    await page.getByLabel('The secret').fill(value);
    await storeSecret();
    await page.getByRole('alert').getByText('was entered already').waitFor();
    expect(await page.getByLabel('May be sent only to').inputValue()).toBe('b.example');
    await page.reload();
    await page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
  });

  test('signs in first if there is no session, and then returns to the form', async () => {
    const { provide_url: link } = await requestSecret({ name: 'signed_out' });
    // When another person signs in, an open page reloads itself, which would interrupt the test.
    await page.goto('about:blank');
    await watched.context.clearCookies();
    await page.goto(link);
    await page.getByLabel('E-mail address').waitFor();
    expect(new URL(page.url()).searchParams.get('return_to')).toBe(new URL(link).pathname);
  });
});
