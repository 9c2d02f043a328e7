import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import {
  startOpenidProvider,
  followRedirects,
} from '../../auth/sign-in-providers/openid-provider.testing.ts';
import type { OpenidProvider } from '../../auth/sign-in-providers/openid-provider.testing.ts';
import { gatewayConfig } from '../../gateway/config.ts';
import { startGateway } from '../../gateway/start.ts';
import { findAccessibilityProblems } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { OpenBrowser } from '../browser/chromium.ts';
import { createCaller } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { needs } from '../support/needs.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { createAgent, successfulBodyOf, startWorld, pollUntil } from '../support/world.ts';
import type { World } from '../support/world.ts';

const chromium = needs('chromium');
const password = 'CANARY-battery-staple';

let world: World;
let provider: OpenidProvider;

beforeAll(async () => {
  const port = await lastingPort();
  provider = await startOpenidProvider([`http://127.0.0.1:${port}/sign-in/callback/work`]);
  world = await startWorld({
    PORT: String(port),
    EGRESS_ALLOW: provider.host,
    SIGN_IN_PROVIDERS: JSON.stringify([
      {
        key: 'work',
        name: 'Work',
        issuer: provider.issuer,
        client_id: provider.clientId,
        client_secret: provider.clientSecret,
        allowed_email_domains: ['acme.example'],
      },
    ]),
  });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
});

const inviteUser = async (email: string, role = 'member') =>
  successfulBodyOf(await world.admin.post('/v1/users/invitations', { email, role }));

/** Signs in over REST, as a script would. */
async function signIn(email: string): Promise<Caller & { cookie: string }> {
  const { url } = world;
  const reply = await createCaller(url, {}).post('/v1/sign-in', { email, password });
  const cookie = reply.headers.get('set-cookie')?.split(';')[0];
  if (reply.status !== 204 || cookie === undefined) throw new Error(JSON.stringify(reply.body));
  return { cookie, ...createCaller(url, { cookie, origin: url }) };
}

describe.skipIf(!chromium.isAvailable)(`sign-in in a browser${chromium.note}`, () => {
  let browser: OpenBrowser;
  beforeAll(async () => {
    browser = await openChromium();
  });
  afterAll(() => browser?.[Symbol.asyncDispose]());

  test('an invited person chooses a password, and signs in with it the next time', async () => {
    const { page, complaints } = await browser.newPage({ viewport: { width: 375, height: 720 } });
    const { url: link } = await inviteUser('pat@example.com');

    await page.goto(link);
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Save password' }).click();
    await page.getByText(/^Nothing waits for you\./).waitFor();

    await page.getByRole('button', { name: /Account/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail address').waitFor();
    await page.goto(`${world.url}/approvals?show=decided`);
    await page.getByLabel('E-mail address').fill('Pat@Example.com');
    await page.getByLabel('Password').fill('CANARY-mistyped-it');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${world.url}/approvals?show=decided`);

    await page.goto(link);
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    const stranger = await browser.newPage({ viewport: { width: 375, height: 720 } });
    await stranger.page.goto(link);
    await stranger.page.getByRole('heading', { name: 'This link no longer works' }).waitFor();
    expect(await findAccessibilityProblems(stranger.page)).toEqual([]);
    // The browser itself logs the expected answers 401 and 410.
    expect(complaints.filter((each) => !/status of 4(01|10)/.test(each))).toEqual([]);
  });

  test('a person who opened a page without a session comes to that page by a one-time link from an admin', async () => {
    const { page } = await browser.newPage();
    const { url: link } = await inviteUser('kim@example.com');
    await page.goto(`${world.url}/approvals?show=decided`);
    await page.getByLabel('E-mail address').waitFor();

    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'Not now' }).click();

    await page.waitForURL(`${world.url}/approvals?show=decided`);
  });

  test('a person signs in with a provider, and returns to the page they wanted', async () => {
    provider.account = { sub: 'ann', email: 'ann@acme.example', email_verified: true };
    const { page } = await browser.newPage();
    await page.goto(`${world.url}/approvals?show=decided`);
    await page.getByRole('link', { name: 'Continue with Work' }).click();

    await page.waitForURL(`${world.url}/approvals?show=decided`);
    await page.getByRole('button', { name: /Account/ }).waitFor();
  });

  test('a provider’s answer to another browser’s sign-in signs no one in', async () => {
    provider.account = { sub: 'mallory', email: 'mallory@acme.example', email_verified: true };
    const begunSignIn = await fetch(`${world.url}/sign-in/with/work`, { redirect: 'manual' });
    const callback = `${world.url}/sign-in/callback/work`;
    const answer = await followRedirects(begunSignIn.headers.get('location') ?? '', callback);

    const { page: victims, context } = await browser.newPage();
    await victims.goto(`${world.url}/sign-in`);
    await victims.goto(answer.href);
    await victims.getByRole('heading', { name: 'Signing in did not work' }).waitFor();
    expect((await context.cookies()).map(({ name }) => name)).not.toContain('gateway_session');
  });
});

describe('sign-in over REST', () => {
  const mia = 'mia@example.com';

  test('a session that has ended is refused by every gateway', async () => {
    const { url, user } = await inviteUser(mia);
    const sessionHeaders = await followLink(url);
    await choosePassword(sessionHeaders, password);
    const [first, second] = [await signIn(mia), await signIn(mia)];
    const settings = { ...world.environment, PORT: String(await lastingPort()) };
    await using replica = await startGateway(loadConfig(gatewayConfig, settings));
    const otherGatewayUrl = replica.url;
    const askOtherGateway = () =>
      createCaller(otherGatewayUrl, { cookie: second.cookie }).get('/v1/identities/me');
    const findCurrentSessionId = async (caller: Caller) => {
      const { items } = successfulBodyOf(await caller.get('/v1/sessions'));
      return items.find(({ current }: { current: boolean }) => current).id as string;
    };
    const secondId = await findCurrentSessionId(second);
    expect((await askOtherGateway()).status).toBe(200);

    const sessions = successfulBodyOf(await first.get('/v1/sessions')).items;
    expect(sessions.map(({ opened_by: by }: { opened_by: string }) => by)).toEqual([
      'password',
      'password',
      'password',
    ]);
    expect((await first.delete(`/v1/sessions/${secondId}`)).status).toBe(204);

    expect((await second.get('/v1/identities/me')).status).toBe(401);
    await pollUntil(async () => (await askOtherGateway()).status === 401, 'the other gateway');
    expect((await first.get('/v1/identities/me')).body.id).toBe(user.id);
    expect((await first.delete('/v1/sessions')).status).toBe(204);
    expect(successfulBodyOf(await first.get('/v1/sessions')).items).toHaveLength(1);
  });

  test('a changed role of a user applies to the next request', async () => {
    const caller = await signIn(mia);
    const me = successfulBodyOf(await caller.get('/v1/identities/me'));
    expect((await caller.get('/v1/users')).status).toBe(403);

    successfulBodyOf(await world.admin.patch(`/v1/users/${me.id}`, { role: 'auditor' }));

    expect((await caller.get('/v1/users')).status).toBe(200);
    expect((await caller.post('/v1/identities/agents', { name: 'mine' })).status).toBe(403);
  });

  test('a changed setting of the org applies to the next approval', async () => {
    const bot = await createAgent(world.url, world.admin, 'bot');
    const measureTimeToLive = async () => {
      const path = { service: 'http', method: 'POST', url: `${world.upstream.url}/x` };
      const { approval_id: id } = successfulBodyOf(await bot.post('/v1/actions/call', path));
      const approval = successfulBodyOf(await world.admin.get(`/v1/approvals/${id}`));
      return Date.parse(approval.expires_at) - Date.parse(approval.created_at);
    };
    successfulBodyOf(await world.admin.patch('/v1/org', { approval_ttl_seconds: 60 }));

    await pollUntil(async () => (await measureTimeToLive()) <= 60_000, 'the new time to live');
  });

  test('every change is recorded in the audit log, without a secret', async () => {
    const types = [
      'user.invited',
      'password.changed',
      'session.created',
      'session.ended',
      'identity.changed',
      'org.changed',
    ];
    await pollUntil(async () => {
      const { items } = successfulBodyOf(await world.admin.get('/v1/audit?limit=200'));
      const eventTypes = new Set(items.map(({ type }: { type: string }) => type));
      return types.every((type) => eventTypes.has(type));
    }, 'the audit log');
    const { items } = successfulBodyOf(await world.admin.get('/v1/audit?limit=200'));
    expect(JSON.stringify(items)).not.toMatch(/CANARY|sil_|ses_/);
  });
});

async function followLink(link: string): Promise<Record<string, string>> {
  const { origin, searchParams } = new URL(link);
  const reply = await fetch(`${origin}/sign-in`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin },
    body: new URLSearchParams({ token: searchParams.get('token') ?? '' }),
  });
  return { cookie: reply.headers.get('set-cookie')?.split(';')[0] ?? '', origin };
}

async function choosePassword(
  headers: Record<string, string>,
  chosenPassword: string,
): Promise<void> {
  const reply = await fetch(`${world.url}/sign-in/password`, {
    method: 'POST',
    redirect: 'manual',
    headers,
    body: new URLSearchParams({ password: chosenPassword }),
  });
  expect(reply.status).toBe(303);
}
