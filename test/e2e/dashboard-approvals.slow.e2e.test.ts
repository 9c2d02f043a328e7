import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { phoneViewport, useDashboard } from '../browser/dashboard.testing.ts';
import type { FixtureServer } from '../browser/fixture-server.testing.ts';
import {
  agentId,
  ann,
  approvalOfDeletion,
  approvalOfIssue,
  approvalOfRead,
} from '../browser/fixtures.testing.ts';
import { payloads } from '../browser/payloads.testing.ts';
import { needs } from '../support/needs.ts';

const chromium = needs('chromium');

/** Tests the information beside the decision on one approval, and the actions on many approvals. */
describe.skipIf(!chromium.isAvailable)(`approvals in the dashboard${chromium.note}`, () => {
  const dashboard = useDashboard();
  const { open } = dashboard;
  let server: FixtureServer;
  beforeAll(() => {
    ({ server } = dashboard);
  });
  const findButton = (page: Page, name: RegExp | string) => page.getByRole('button', { name });

  describe('what a decision allows from now on', () => {
    const remembered = (differences: Partial<ApprovalResponse> = {}) =>
      approvalOfIssue({
        status: 'allowed',
        resolution: 'allow_remember',
        resolved_at: new Date().toISOString(),
        resolved_by: { id: ann.id, kind: 'user', name: ann.name, path: ann.path },
        ...differences,
      });
    const ruleOf = (approval: ApprovalResponse, differences: object = {}) => ({
      id: '0199c0de-0000-7000-8000-0000000002aa',
      approval_id: approval.id,
      pattern: 'github:create_issue:acme/site',
      expires_at: new Date(Date.now() + 23 * 3_600_000).toISOString(),
      use_count: 3,
      last_used_at: new Date(Date.now() - 2 * 3_600_000).toISOString(),
      ...differences,
    });

    test('is shown beside the decision, and can be stopped after a question that names the consequence', async () => {
      const approval = remembered();
      server.approvals = [approval];
      server.rules = [
        ruleOf(approval, {
          description: 'deploy-bot may create an issue in acme/site with GitHub',
          used: { count: 12, last_at: new Date(Date.now() - 2 * 3_600_000).toISOString() },
        }),
      ];
      const page = await open(`/approvals/${approval.id}?show=decided`, {
        viewport: phoneViewport,
      });
      const section = page.getByRole('region', { name: 'What it allows' });
      await section.getByText('deploy-bot may create an issue in acme/site with GitHub').waitFor();
      await section.getByText('It has covered 12 calls since, the last 2 h ago.').waitFor();
      expect(await findProblemsInBothSchemes(page)).toEqual([]);

      await findButton(page, 'Stop allowing').click();
      const question = page.getByRole('group', { name: /will be asked about again/ });
      await question.waitFor();
      // An element that is half hidden by the header would be reported as too small a target.
      await page.evaluate('scrollTo(0, 0)');
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await findButton(page, 'Stop allowing').click();
      expect(server.stoppedRules).toEqual([]);

      await findButton(page, 'Yes, stop allowing').click();
      await page.getByText('No longer allowed: such calls are asked about again').waitFor();
      await page.getByText('It has covered 12 calls since').waitFor();
      await page.getByText('What ran stays done.').waitFor();
      expect(server.stoppedRules).toHaveLength(1);
      expect(server.rules).toEqual([]);
    });

    test.each([
      ['an auditor', { ...ann, role: 'auditor' as const }, {}],
      [
        'a member whose admin decided',
        { ...ann, role: 'member' as const },
        { resolved_by: { id: 'ben', kind: 'user' as const, name: 'Ben', path: ['Ben'] } },
      ],
    ])('cannot be stopped by %s', async (_, me, differences) => {
      const approval = remembered(differences);
      server.me = me;
      server.approvals = [approval];
      server.rules = [ruleOf(approval)];
      const page = await open(`/approvals/${approval.id}?show=decided`);
      await page.getByText('It has covered 3 calls since').waitFor();

      expect(await findButton(page, 'Stop allowing').count()).toBe(0);
    });

    test('stays when it could not be stopped, and the page shows why', async () => {
      const approval = remembered();
      server.approvals = [approval];
      server.rules = [ruleOf(approval)];
      const page = await open(`/approvals/${approval.id}?show=decided`);
      await findButton(page, 'Stop allowing').click();
      server.failures.push({ path: '/v1/rules/', status: 403 });
      await findButton(page, 'Yes, stop allowing').click();

      await page.getByText('request-internal').waitFor();
      await findButton(page, 'Stop allowing').waitFor();
    });

    test('is shown as ended when its rule has expired or was stopped', async () => {
      const approval = remembered();
      server.approvals = [approval];
      const page = await open(`/approvals/${approval.id}?show=decided`);

      await page.getByText('it has expired, or somebody stopped it').waitFor();
    });

    test('is shown as plain text if it contains hostile text', async () => {
      const approval = remembered();
      server.approvals = [approval];
      for (const [what, given, shown] of payloads.slice(-10)) {
        server.rules = [ruleOf(approval, { description: given, pattern: `github:x:${given}` })];
        const page = await open(`/approvals/${approval.id}?show=decided`);
        const section = page.getByRole('region', { name: 'What it allows' });
        await section.waitFor();
        expect((await section.textContent())?.split(shown).length, what).toBe(3);
      }
    });
  });

  describe('the explanation why an approval is needed', () => {
    test('is shown for each permission key when a person opens it, as plain text', async () => {
      const approval = approvalOfIssue();
      server.approvals = [approval];
      server.why = [
        { key: 'github:create_issue:acme/site', effect: 'gap' },
        {
          key: 'connection:\u202Egithub<img src=x onerror=alert(1)>',
          effect: 'allow',
          by: 'rule',
          identity_id: agentId,
        },
      ];
      const page = await open(`/approvals/${approval.id}`);
      await page.getByText('Why is this asked?').click();

      await page.getByText('Nothing allows this yet, so a person is asked.').waitFor();
      await page.getByText('Already allowed by a rule for deploy-bot.').waitFor();
      await page.getByText('connection:U+202Egithub<img src=x onerror=alert(1)>').waitFor();
      expect(await page.locator('article img').count()).toBe(0);
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
    });

    test('is not offered once the call has ended', async () => {
      const approval = approvalOfIssue({ status: 'denied', resolution: 'deny' });
      server.approvals = [approval];
      const page = await open(`/approvals/${approval.id}?show=decided`);
      await page.getByText('Where and by which permission').waitFor();

      expect(await page.getByText('Why is this asked?').count()).toBe(0);
    });
  });

  test('an approval of somebody else is not shown: the page names the signed-in person, and offers no retry', async () => {
    server.failures.push(
      ...Array.from({ length: 2 }, () => ({
        path: '/v1/approvals/0199c0de-0000-7000-8000-00000000fff1',
        status: 403,
        body: { error: 'not_in_your_chain', message: 'Not yours.', request_id: 'r' },
      })),
    );
    const page = await open('/approvals/0199c0de-0000-7000-8000-00000000fff1');

    await page.getByRole('heading', { name: 'This approval is not yours to see' }).waitFor();
    await page.getByText('You are signed in as Ann Petrova.').waitFor();
    expect(await findButton(page, 'Try again').count()).toBe(0);
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
  });

  describe('the list of approvals', () => {
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

    test('is filtered, searched and sorted by the query of the URL, which stays while a card is open', async () => {
      server.approvals = [
        approvalOfIssue({ action_description: 'Create issue "Alpha"', created_at: minutesAgo(3) }),
        approvalOfIssue({ action_description: 'Create issue "Beta"', created_at: minutesAgo(2) }),
        approvalOfRead({ action_description: 'Read the mail', created_at: minutesAgo(1) }),
      ];
      const page = await open('/approvals', { viewport: phoneViewport });
      const rows = page.getByRole('main').getByRole('listitem');
      await expect.poll(() => rows.count()).toBe(3);

      await page.getByText('Filter and sort').click();
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      await page.getByLabel('Order').selectOption('Newest first');
      await expect.poll(() => rows.first().textContent()).toContain('Beta');
      await page.getByLabel('Risk').selectOption('Low risk');
      await expect.poll(() => rows.count()).toBe(1);
      await page.getByLabel('Risk').selectOption('Any risk');
      await page.getByLabel('Search approvals').fill('alpha');
      await page.waitForURL('**/approvals?q=alpha&sort=newest');
      await expect.poll(() => rows.allTextContents()).toEqual([expect.stringContaining('Alpha')]);

      await rows.first().click();
      await page.waitForURL(`**/${server.approvals[0]?.id}?q=alpha&sort=newest`);
      await page.getByRole('link', { name: 'Approvals' }).first().click();
      await page.waitForURL('**/approvals?q=alpha&sort=newest');
      await page.getByLabel('Search approvals').fill('nothing of the kind');
      await page.getByText('No approval matches.').waitFor();
      await findButton(page, 'Show all').click();
      await expect.poll(() => rows.count()).toBe(3);
    });

    test('loads further pages by itself when pages are empty, and asks the person after ten empty pages', async () => {
      server.approvals = [approvalOfIssue({ action_description: 'Create issue "Needle"' })];
      server.emptyPages = 3;
      const page = await open('/approvals?q=needle', { viewport: phoneViewport });
      const rows = page.getByRole('main').getByRole('listitem');
      await expect.poll(() => rows.allTextContents()).toEqual([expect.stringContaining('Needle')]);

      server.emptyPages = 12;
      await page.reload();
      await page.getByText('No approval matches so far.').waitFor();
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      expect(await rows.count()).toBe(0);
      const more = findButton(page, 'Look further');
      while ((await rows.count()) === 0) {
        await more.click({ timeout: 500 }).catch(() => undefined);
      }
      expect(await rows.allTextContents()).toEqual([expect.stringContaining('Needle')]);
    });

    test('shows who decided an approval and why, as plain text', async () => {
      const reason = 'Not \u202Etoday <img src=x onerror=alert(1)>';
      server.approvals = [
        approvalOfIssue({
          status: 'denied',
          resolution: 'deny',
          reason,
          resolved_at: minutesAgo(1),
          resolved_by: { id: 'ben', kind: 'user', name: 'Ben', path: ['Ben'] },
        }),
      ];
      const page = await open('/approvals?show=decided');
      const row = page.getByRole('main').getByRole('listitem').first();

      await row.getByText('Denied by Ben: “Not U+202Etoday <img').waitFor();
      expect(await page.locator('main img').count()).toBe(0);
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
    });

    test('keeps few rows in the page for 1,000 approvals of 50 agents; keys and scrolling reach the others', async () => {
      server.approvals = Array.from({ length: 1_000 }, (_each, at) =>
        approvalOfIssue({
          action_description: `Create issue ${at}`,
          created_at: minutesAgo(1_000 - at),
          requester: {
            id: `0199c0de-0000-7000-8000-0000000a00${String(at % 50).padStart(2, '0')}`,
            kind: 'agent',
            name: `bot-${at % 50}`,
            path: ['Ann Petrova', `bot-${at % 50}`],
          },
        }),
      );
      const page = await open('/approvals');
      const rows = page.getByRole('main').getByRole('listitem');
      await page.getByRole('heading', { name: 'Create issue 0', exact: true }).waitFor();
      expect(await rows.count()).toBeLessThanOrEqual(60);

      for (let at = 1; at <= 12; at += 1) {
        await page.keyboard.press('j');
        await page.getByRole('heading', { name: `Create issue ${at}`, exact: true }).waitFor();
      }
      const chosen = page.locator('main li a[aria-current="page"]');
      await expect.poll(async () => (await chosen.boundingBox())?.y ?? 9_999).toBeLessThan(900);

      const last = rows.getByText('Create issue 999', { exact: true });
      const scrollsMax = 500;
      for (let scrolled = 0; (await last.count()) === 0 && scrolled < scrollsMax; scrolled += 1) {
        await page.evaluate(scrollListToEnd);
        expect(await rows.count()).toBeLessThanOrEqual(60);
      }
      await last.waitFor();
    });
  });

  describe('several approvals of one kind', () => {
    const issue = (title: string, differences: Partial<ApprovalResponse> = {}) =>
      approvalOfIssue({
        action_description: `Create issue "${title}" in acme/site`,
        disclosed: [
          { label: 'Repository', value: 'acme/site', truncated: false },
          { label: 'Title', value: title, truncated: false },
        ],
        ...differences,
      });
    const selectAll = async (page: Page, count: number) => {
      await findButton(page, 'Select several').click();
      await page.getByRole('checkbox').first().check();
      await findButton(page, `Select ${count - 1} more like this`).click();
      await findButton(page, `Review ${count}`).click();
      return page.getByRole('dialog');
    };

    test('are not offered for selection to an auditor, who cannot decide', async () => {
      server.me = { ...ann, role: 'auditor' };
      server.approvals = [issue('One'), issue('Two')];
      const page = await open('/approvals');
      await page.getByRole('link', { name: /One/ }).waitFor();
      expect(await findButton(page, 'Select several').count()).toBe(0);
    });

    test('are allowed together after a confirmation, except one that somebody else denies meanwhile', async () => {
      const [one, two, three] = [issue('One'), issue('Two'), issue('Three')];
      server.approvals = [one, two, three, approvalOfDeletion(), approvalOfRead()];
      const page = await open('/approvals', { viewport: phoneViewport });
      await findButton(page, 'Select several').click();
      const boxes = page.getByRole('checkbox');
      await page.getByRole('checkbox', { name: /One/ }).check();
      expect(await page.getByRole('checkbox', { name: /DELETE/ }).isDisabled()).toBe(true);
      expect(await page.getByRole('checkbox', { name: /Search messages/ }).isDisabled()).toBe(true);
      await findButton(page, 'Select 2 more like this').click();
      expect(await boxes.and(page.locator(':checked')).count()).toBe(3);
      expect(await findProblemsInBothSchemes(page)).toEqual([]);

      server.addApproval(issue('Four'));
      await page.getByRole('checkbox', { name: /Four/ }).waitFor();
      expect(await page.getByRole('checkbox', { name: /Four/ }).isChecked()).toBe(false);
      await findButton(page, 'Review 3').click();
      const sheet = page.getByRole('dialog');
      expect(await sheet.getByRole('listitem').count()).toBe(3);
      expect(await sheet.getByText('The same in all').count()).toBe(1);
      expect(await findProblemsInBothSchemes(page)).toEqual([]);

      await findButton(page, 'Allow these 3 once').click();
      await sheet.getByText('Allow these 3 calls once, and remember nothing?').waitFor();
      expect(server.resolutions).toEqual([]);
      server.beforeResolve = () => {
        server.beforeResolve = () => {};
        server.approvals = server.approvals.map((each) =>
          each.id === two.id ? { ...each, ...deniedByBen } : each,
        );
      };
      await findButton(page, 'Yes, allow all 3').click();

      await sheet.getByText('Denied by Ben').waitFor();
      await expect.poll(() => sheet.getByText('Allowed by you').count()).toBe(2);
      await sheet.getByText('All of them are decided.').waitFor();
      expect(server.resolutions.map(({ id }) => id).toSorted()).toEqual([one.id, three.id]);
      expect(server.resolutions.every(({ resolution }) => resolution === 'allow')).toBe(true);
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
    });

    test('are denied together with one reason; a decision that fails can be made again', async () => {
      server.approvals = [issue('One'), issue('Two')];
      const page = await open('/approvals', { viewport: phoneViewport });
      const sheet = await selectAll(page, 2);
      await findButton(page, 'Deny these 2').click();
      await sheet.getByRole('textbox').fill('Release freeze');
      server.failures.push({
        path: `/v1/approvals/${server.approvals[0]?.id}/resolve`,
        status: 503,
        body: { error: 'unavailable', message: 'Try again soon.', request_id: 'r' },
      });
      await findButton(page, 'Deny these 2 calls').click();

      await sheet.getByText('Not decided: Try again soon.').waitFor();
      await sheet.getByText('Denied by you').waitFor();
      await findButton(page, 'Allow this once').waitFor();
      expect(server.resolutions).toEqual([
        { id: server.approvals[1]?.id, resolution: 'deny', reason: 'Release freeze' },
      ]);
    });

    test('show hostile text as plain text, and show a decision of somebody else at once', async () => {
      const hostile = 'pay\u202Elap <img src=x onerror=alert(1)>';
      const [one, two] = [issue(hostile), issue('Two')];
      server.approvals = [one, two];
      const page = await open('/approvals', { viewport: phoneViewport });
      const sheet = await selectAll(page, 2);

      expect(await sheet.textContent()).toContain('payU+202Elap <img src=x onerror=alert(1)>');
      expect(await page.locator('img').count()).toBe(0);
      server.changeApproval(two.id, deniedByBen);
      await sheet.getByText('Denied by Ben').waitFor();
      await findButton(page, 'Allow this once').waitFor();
    });
  });
});

/** Scrolls to the end of the loaded list, and waits until the page has been rendered again. */
const scrollListToEnd = `new Promise((resolve) => {
  const scroller = document.querySelector('[data-scroller]');
  scroller.scrollTo(0, scroller.scrollHeight);
  requestAnimationFrame(() => requestAnimationFrame(resolve));
})`;

const deniedByBen = {
  status: 'denied' as const,
  resolution: 'deny' as const,
  resolved_at: new Date().toISOString(),
  resolved_by: { id: 'ben', kind: 'user' as const, name: 'Ben', path: ['Ben'] },
};
