import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import type { AuditRecord } from '#contracts/audit';
import { blankAuditEntry } from '#contracts/audit';
import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { WatchedPage } from '../browser/chromium.ts';
import { desktopViewport, phoneViewport, useDashboard } from '../browser/dashboard.testing.ts';
import type { FixtureServer } from '../browser/fixture-server.testing.ts';
import { ann, approvalOfDeletion, approvalOfIssue } from '../browser/fixtures.testing.ts';
import { payloads } from '../browser/payloads.testing.ts';
import { needs } from '../support/needs.ts';
import type { Person } from '../support/people.ts';
import { createAgent, pollUntil, startWorld, successfulBodyOf } from '../support/world.ts';
import type { World } from '../support/world.ts';

const chromium = needs('chromium');

describe.skipIf(!chromium.isAvailable)(`the home page of a gateway${chromium.note}`, () => {
  let world: World;
  let watched: WatchedPage;
  let page: Page;
  let mia: Person;
  let auditor: Person;

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    world = stack.use(await startWorld());
    const { url, admin, upstream } = world;
    mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
    auditor = await world.person({ orgId: admin.orgId, name: 'aud', role: 'auditor' });
    const bot = await createAgent(url, mia, 'mia-bot');
    successfulBodyOf(await bot.post('/v1/requests', { kind: 'service', template: 'linear' }));
    successfulBodyOf(
      await mia.post('/v1/requests', { kind: 'service', template: 'notion', tier: 'org' }),
    );
    const call = (method: string) =>
      bot.post('/v1/actions/call', { service: 'http', method, url: `${upstream.url}/notes/7` });
    successfulBodyOf(await call('POST'));
    successfulBodyOf(await call('DELETE'));
    const { approval_id: deniedId } = successfulBodyOf(await call('PUT'));
    const denial = { resolution: 'deny', reason: 'No.' };
    successfulBodyOf(await mia.post(`/v1/approvals/${deniedId}/resolve`, denial));
    await pollUntil(async () => {
      const { items } = successfulBodyOf(await mia.get('/v1/usage'));
      return items.some(({ key }: { key: string }) => key === 'denied');
    }, 'the counts of the calls');
    const browser = stack.use(await openChromium());
    watched = await browser.newPage({ viewport: phoneViewport });
    ({ page } = watched);
    return async () => {
      await stack.disposeAsync();
      if (watched.complaints.length > 0) throw new Error(watched.complaints.join('\n'));
    };
  });

  const openAs = async ({ cookie }: { cookie: string }, viewport = phoneViewport) => {
    const [name = '', value = ''] = cookie.split('=');
    // When another person signs in, an open page reloads itself, which would interrupt the test.
    await page.goto('about:blank');
    await watched.context.clearCookies();
    await watched.context.addCookies([{ name, value, url: world.url }]);
    await page.setViewportSize(viewport);
    await page.goto(world.url);
    await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
  };
  const section = (name: string) => page.getByRole('region', { name, exact: true });

  test('shows a member what waits for a decision, the riskiest first, and how calls ended', async () => {
    await openAs(mia);

    const waiting = section('Waiting for you');
    await waiting.getByText('Connect Linear?').waitFor();
    const rows = await waiting.getByRole('listitem').allTextContents();
    expect(rows.map((row) => /DELETE|Linear|POST/.exec(row)?.[0])).toEqual([
      'DELETE',
      'Linear',
      'POST',
    ]);
    expect(await page.title()).toContain('(3) Home');
    await section('In the last 7 days').getByText('asked a person first').waitFor();
    await section('Last calls').getByText('Denied', { exact: true }).waitFor();
    for (const absent of ['Asked of the admins', 'The gateway', 'To fix']) {
      expect(await section(absent).count(), absent).toBe(0);
    }
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phoneViewport.width);

    await waiting.getByText('Connect Linear?').click();
    await page.waitForURL(`${world.url}/requests/**`);
  });

  test('shows an admin the requests of members and the state of the gateway', async () => {
    await openAs(world.admin, desktopViewport);

    await section('Asked of the admins').getByText('Connect Notion?').waitFor();
    await section('The gateway').getByText('All 8 components work.').waitFor();
    expect(await section('Waiting for you').getByText('Linear').count()).toBe(0);
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  test('shows an auditor the state of the audit log and the last denials, but nothing to decide', async () => {
    await openAs(auditor);

    await section('The audit log')
      .getByText(/records are in order/)
      .waitFor();
    await section('Denied last').getByRole('listitem').waitFor();
    const main = page.getByRole('main');
    expect(await main.getByRole('button').count()).toBe(0);
    expect(await section('Waiting for you').count()).toBe(0);
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  describe('an auditor', () => {
    let botId: string;
    let approvalId: string;
    beforeAll(async () => {
      const agents = successfulBodyOf(await mia.get('/v1/identities')).items;
      botId = agents.find(({ name }: { name: string }) => name === 'mia-bot').id;
      const openApprovals = successfulBodyOf(await mia.get('/v1/approvals?status=open')).items;
      approvalId = openApprovals[0].id;
    });

    test('sees what is in the organisation, without any button for changes', async () => {
      await openAs(auditor);
      for (const [path, shown] of [
        ['/', 'Denied last'],
        ['/activity', 'mia-bot'],
        ['/agents', 'mia-bot'],
        [`/agents/${botId}`, 'mia-bot'],
        ['/services', 'Connect Linear?'],
        ['/services/credentials', 'Secrets'],
        ['/approvals', 'mia-bot'],
        [`/approvals/${approvalId}`, 'as an auditor'],
      ] as const) {
        for (const viewport of [phoneViewport, desktopViewport]) {
          await page.setViewportSize(viewport);
          await page.goto(world.url + path);
          const main = page.getByRole('main');
          await main.getByText(shown).filter({ visible: true }).first().waitFor();
          await page.locator('.animate-spin:visible').first().waitFor({ state: 'detached' });
          const fields = main.locator(
            ':is(input, textarea):not([type=search]), [role=switch], button:not([aria-expanded])',
          );
          expect(await fields.allTextContents(), path).toEqual([]);
          expect(await findProblemsInBothSchemes(page), path).toEqual([]);
        }
      }
    });

    test('cannot change anything through the API with the session of the page', async () => {
      await openAs(auditor);
      const call = { service: 'http', method: 'POST', url: `${world.upstream.url}/notes` };
      const attempts: readonly [method: string, path: string, body: object | undefined][] = [
        ['POST', `/v1/approvals/${approvalId}/resolve`, { resolution: 'allow' }],
        ['POST', `/v1/approvals/${approvalId}/resolve`, { resolution: 'deny' }],
        ['POST', '/v1/identities/agents', { name: 'own-bot' }],
        ['PATCH', `/v1/identities/${botId}`, { inherit_permissions: true }],
        ['POST', `/v1/identities/${botId}/archive`, undefined],
        ['POST', `/v1/identities/${botId}/keys`, { name: 'more' }],
        ['POST', `/v1/identities/${botId}/revoke`, undefined],
        ['POST', '/v1/rules', { identity_id: null, effect: 'allow', pattern: 'http:*:*' }],
        ['POST', '/v1/services', { template: 'github', name: 'github' }],
        ['POST', '/v1/requests', { kind: 'service', template: 'github' }],
        ['POST', '/v1/users/invitations', { email: 'eve@acme.example', role: 'admin' }],
        ['PATCH', `/v1/users/${auditor.id}`, { role: 'admin' }],
        ['POST', '/v1/actions/call', call],
      ];
      const answers = await page.evaluate(
        async (wanted) =>
          Promise.all(
            wanted.map(async ([method, path, body]) => {
              const answer = await fetch(path, {
                method,
                headers: { 'content-type': 'application/json' },
                ...(body === undefined ? {} : { body: JSON.stringify(body) }),
              });
              const { error } = (await answer.json()) as { error?: string };
              return `${method} ${path}: ${answer.status} ${error}`;
            }),
          ),
        attempts,
      );
      expect(answers).toEqual(
        attempts.map(([method, path]) => {
          const code = path.endsWith('/resolve') ? 'not_in_your_chain' : 'forbidden';
          return `${method} ${path}: 403 ${code}`;
        }),
      );
      const approval = successfulBodyOf(await mia.get(`/v1/approvals/${approvalId}`));
      expect(approval.status).toBe('pending');
    });
  });

  test('leads to the activity page, which shows the details of a call and is filtered by the query of its URL', async () => {
    await openAs(mia);
    await page.getByRole('link', { name: 'All activity' }).click();
    const rows = page.getByRole('main').getByRole('listitem');
    await rows.getByText('Denied', { exact: true }).waitFor();
    await page.getByText('Filter', { exact: true }).click();
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('Denied');
    await page.waitForURL(`${world.url}/activity?outcome=denied`);
    await page.getByRole('combobox', { name: 'Who' }).selectOption('mia');
    await page.waitForURL(`${world.url}/activity?agent=*&outcome=denied`);
    await rows.first().waitFor();
    expect(await rows.count()).toBe(1);

    await rows.getByRole('button').click();
    await rows.getByText('Permission key').first().waitFor();
    await rows.getByText('approval.resolved').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phoneViewport.width);
    await page.reload();
    await rows.first().waitFor();
    expect(await rows.count()).toBe(1);

    await page.getByRole('searchbox').fill('nothing is called like this');
    await page.getByText('Nothing that is recorded matches.').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show everything' }).click();
    await page.waitForURL(`${world.url}/activity`);
  });

  test('has an activity page that tells an auditor whether the log is in order, and filters by person and type', async () => {
    await openAs(auditor);
    await page.goto(`${world.url}/activity?user_id=${mia.id}&type=approval.resolved`);
    const rows = page.getByRole('main').getByRole('list').getByRole('listitem');
    await rows.getByText('Denied', { exact: true }).waitFor();
    expect(await rows.count()).toBe(1);
    const personFilter = page.getByRole('combobox', { name: 'Whose' });
    const typeFilter = page.getByRole('combobox', { name: 'What' });
    expect(await personFilter.locator('option:checked').textContent()).toBe('mia');
    expect(await typeFilter.locator('option:checked').textContent()).toBe('Approval resolved');

    const line = page.getByText(/The audit log: in order up to record \d+/);
    await line.click();
    await page.getByText(/records are in order/).waitFor();
    await page.getByText(/^Hash [0-9a-f]{64}/).waitFor();
    for (const viewport of [phoneViewport, desktopViewport]) {
      await page.setViewportSize(viewport);
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(
        await page.evaluate('document.documentElement.clientWidth'),
      );
    }

    await typeFilter.selectOption('Session created');
    await page.waitForURL(`${world.url}/activity?user_id=${mia.id}&type=session.created`);
    await personFilter.selectOption('aud');
    await page.waitForURL(`${world.url}/activity?user_id=${auditor.id}&type=session.created`);

    await openAs(mia);
    await page.goto(`${world.url}/activity?type=approval.resolved`);
    await rows.getByText('Denied', { exact: true }).waitFor();
    expect(await page.getByText('The audit log').count()).toBe(0);
    expect(await personFilter.count()).toBe(0);
  });

  test('has an activity page that names the first record at which the log is not in order', async () => {
    await world.tables.query(`update audit.record set description = 'Nothing' where seq = 2`);
    await openAs(auditor, desktopViewport);
    await page.goto(`${world.url}/activity`);
    await page.getByText('The audit log: does not fit from record 2').waitFor();
    await page.getByText('was changed or removed').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  test('shows each person the activity of their own agents only, and an auditor the activity of everybody', async () => {
    const other = await world.person({ orgId: world.admin.orgId, name: 'kim', role: 'member' });
    for (const [person, sees] of [
      [other, false],
      [auditor, true],
    ] as const) {
      await openAs(person, desktopViewport);
      await page.goto(`${world.url}/activity?days=7`);
      await page.getByRole('heading', { name: 'Activity' }).waitFor();
      await page
        .getByText(sees ? 'Denied' : 'kim', { exact: true })
        .last()
        .waitFor();
      expect((await page.getByRole('main').getByText('mia-bot').count()) > 0).toBe(sees);
    }
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });
});

describe.skipIf(!chromium.isAvailable)(`the home page in other states${chromium.note}`, () => {
  const dashboard = useDashboard();
  const { open } = dashboard;
  let server: FixtureServer;
  beforeAll(() => {
    ({ server } = dashboard);
  });
  const emptyPage = { items: [], next_cursor: null };
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();

  function answerWithNothing() {
    server.me = { ...ann, role: 'member' };
    server.answers = {
      '/v1/requests': emptyPage,
      '/v1/services': emptyPage,
      '/v1/audit': emptyPage,
      '/v1/profile/visit': { previous_visit_at: hourAgo },
      '/v1/usage': { from: hourAgo, to: hourAgo, bucket: 'day', by: 'outcome', items: [] },
      '/v1/profile': { handle: ann.name, email: ann.email, role: 'member', org: ann.org },
      '/v1/sessions': emptyPage,
    };
  }

  test('explains what it will show when nothing has happened yet', async () => {
    answerWithNothing();
    const page = await open('/');

    await page.getByText(/Nothing waits for you. When an agent needs you/).waitFor();
    await page.getByRole('heading', { name: 'Since your last visit' }).waitFor();
    await page.getByText('None of your agents called anything since then.').waitFor();
    await page.getByText('Nothing happened yet.').waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  test('has a menu "More" on a phone, with the links for which the bar has no room', async () => {
    answerWithNothing();
    const page = await open('/', { viewport: phoneViewport });
    const bar = page.getByRole('navigation', { name: 'Main' });
    const more = bar.getByRole('button', { name: 'More' });
    expect(await bar.getByRole('link').allTextContents()).toEqual([
      'Home',
      'Approvals',
      'Agents',
      'Services',
    ]);
    const chooseUnderMore = async (name: string) => {
      await more.click();
      const menu = page.getByRole('dialog');
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      await menu.getByRole('link', { name }).click();
      await page.getByRole('heading', { name, level: 1 }).waitFor();
      expect(await menu.count()).toBe(0);
    };

    await chooseUnderMore('Activity');
    await chooseUnderMore('Profile');
    await more.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('ann@acme.example').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await more.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(/\/sign-in/);

    server.me = { ...ann, role: 'member' };
    await page.setViewportSize(desktopViewport);
    await page.goto(server.url);
    await bar.getByRole('link', { name: 'Activity' }).waitFor();
    expect(await more.count()).toBe(0);
  });

  test('names the problems that the person can fix, and no others', async () => {
    answerWithNothing();
    const account = { tier: 'user', owner_id: ann.id, account_label: 'ann@gmail' } as const;
    server.connections = [
      { ...account, id: 'c1', name: 'gmail', status: 'needs_reauth' },
      { ...account, id: 'c2', name: 'work', status: 'needs_reauth', tier: 'org', owner_id: null },
    ];
    server.secrets = [{ id: 's', name: 'github_token', ...account, refused_at: hourAgo }];
    const service = { id: 'v', title: 'Notes', ...account, tools: { version: 1, waiting: 2 } };
    server.answers['/v1/services'] = { items: [service], next_cursor: null };
    const page = await open('/', { viewport: phoneViewport });

    const fixes = page.getByRole('region', { name: 'To fix' }).getByRole('listitem');
    await fixes.nth(2).waitFor();
    expect(await fixes.allTextContents()).toEqual([
      expect.stringContaining('The account ann@gmail must be connected again'),
      expect.stringContaining('The secret github_token is refused'),
      expect.stringContaining('2 tools of Notes are new or have changed'),
    ]);
    const link = page.getByRole('link', { name: 'Connect again' });
    expect(await link.getAttribute('href')).toBe('/connect/repair/c1');
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  test('shows admins first what does not work in the gateway', async () => {
    answerWithNothing();
    const components = { auth: { status: 'ok' }, audit: { status: 'unavailable' } };
    server.answers['/v1/status'] = { components, streams: {}, consumers: {} };
    server.me = { ...ann, role: 'admin' };
    const page = await open('/', { viewport: phoneViewport });

    await page.getByText('audit is unavailable').waitFor();
    expect(await page.getByRole('region').first().textContent()).toContain('Not everything works');
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  test('shows a new approval as it arrives, and at most eight approvals', async () => {
    answerWithNothing();
    server.approvals = Array.from({ length: 10 }, () => approvalOfIssue());
    const page = await open('/');
    const waiting = page.getByRole('region', { name: 'Waiting for you' });
    await waiting.getByText('2 more wait: see all approvals').waitFor();

    server.addApproval(approvalOfDeletion());

    await waiting.getByText('3 more wait: see all approvals').waitFor();
    expect(await waiting.getByRole('listitem').first().textContent()).toContain('High risk');
    expect(await waiting.getByRole('listitem').count()).toBe(8);
  });

  test('says which part cannot be loaded, and shows the other parts', async () => {
    answerWithNothing();
    // The page requests everything once more when its event stream opens.
    for (const path of ['/v1/requests', '/v1/usage']) {
      server.failures.push({ path, status: 500 }, { path, status: 500 });
    }
    server.failures.push({ path: '/v1/audit', status: 403 });
    server.approvals = [approvalOfIssue()];
    const page = await open('/');

    await page.getByText('Request id: request-internal').nth(1).waitFor();
    const waiting = page.getByRole('region', { name: 'Waiting for you' });
    await waiting.getByText(/Create issue/).waitFor();
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  test('shows text of agents and providers as plain text, whatever it contains', async () => {
    answerWithNothing();
    const [[, hostile, shown] = ['', '', '']] = payloads;
    server.approvals = [approvalOfIssue({ action_description: hostile })];
    const record = { ...blankAuditEntry(hostile), service: hostile, outcome: 'called' } as const;
    const call: Partial<AuditRecord> = { ...record, id: 'r', type: 'action.outcome', at: hourAgo };
    server.answers['/v1/audit'] = { items: [call], next_cursor: null };
    server.connections = [
      { id: 'c', tier: 'user', owner_id: ann.id, account_label: hostile, status: 'needs_reauth' },
    ];
    const page = await open('/');

    await page.getByRole('region', { name: 'To fix' }).getByText('The account').waitFor();
    const text = (await page.getByRole('main').textContent()) ?? '';
    expect(text.split(shown).length - 1).toBeGreaterThanOrEqual(4);
    const injectedElements = page.locator('main :is(img, script, iframe, style, link, base, meta)');
    expect(await injectedElements.count()).toBe(0);
  });

  test('has an activity page that shows hostile text as plain text, and says what could not be loaded', async () => {
    answerWithNothing();
    // The page sends the request once more when its event stream opens.
    const failure = { path: '/v1/audit', status: 500 };
    server.failures.push(failure, failure);
    const page = await open('/activity');
    await page.getByText('Request id: request-internal').waitFor();
    server.failures.length = 0;
    await page.reload();
    await page.getByText('Nothing happened yet.').waitFor();

    const [, hostiles, shown] = [0, 1, 2].map((at) => payloads.map((payload) => payload[at] ?? ''));
    const rows = hostiles?.map((hostile, at) => ({
      ...blankAuditEntry(hostile),
      id: `${at}`,
      type: 'action.outcome',
      outcome: 'called',
      at: hourAgo,
      identity: { id: `${at}`, kind: 'agent', name: hostile, path: ['ann', hostile] },
      disclosed: [{ label: hostile.slice(0, 100), value: hostile, truncated: false }],
      request: { headers: { [hostile]: hostile }, content_type: hostile, credentials: [] },
    }));
    server.answers['/v1/audit'] = { items: rows, next_cursor: null };
    for (const row of rows ?? []) server.answers[`/v1/audit/${row.id}`] = { rows: [row] };
    await page.reload();
    const lines = page.getByRole('main').getByRole('button', { expanded: false });
    await lines.first().waitFor();
    while ((await lines.count()) > 0) await lines.first().click();
    await page
      .getByText('Content type')
      .nth(payloads.length - 1)
      .waitFor();

    const text = (await page.getByRole('main').textContent()) ?? '';
    for (const each of shown ?? []) expect(text.split(each).length).toBeGreaterThan(4);
    const injectedElements = page.locator('main :is(img, script, iframe, style, link, base, meta)');
    expect(await injectedElements.count()).toBe(0);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(
      await page.evaluate('innerWidth'),
    );
  });
});
