import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import { blankAuditEntry } from '#contracts/audit';
import type { ApprovalResponse } from '#contracts/http/approvals';
import { findAccessibilityProblems, findProblemsInBothSchemes } from '../browser/axe.ts';
import { desktopViewport, phoneViewport, useDashboard } from '../browser/dashboard.testing.ts';
import type { FixtureServer } from '../browser/fixture-server.testing.ts';
import {
  approvalOfDeletion,
  approvalOfRead,
  agentId,
  approvalOfIssue,
  ann,
} from '../browser/fixtures.testing.ts';
import { payloads } from '../browser/payloads.testing.ts';
import { needs } from '../support/needs.ts';

const chromium = needs('chromium');

describe.skipIf(!chromium.isAvailable)(
  `the dashboard in states that a running gateway seldom has${chromium.note}`,
  () => {
    const dashboard = useDashboard();
    const { open } = dashboard;
    let server: FixtureServer;
    beforeAll(() => {
      ({ server } = dashboard);
    });

    describe('text from an agent', () => {
      test(
        'is shown as plain text in every field, whatever it contains',
        { timeout: 180_000 },
        async () => {
          const approval = approvalOfIssue();
          server.approvals = [approval];
          const page = await open(`/approvals/${approval.id}`);
          const heading = page.getByRole('heading', { level: 1 });
          await page.getByRole('button', { name: 'Allow and remember' }).click();

          for (const [what, agentText, shown] of payloads) {
            server.changeApproval(approval.id, fillEveryField(agentText), 'approval.bubbled');
            await expect.poll(() => heading.textContent(), { message: what }).toBe(shown);

            const text = (await page.locator('article').textContent()) ?? '';
            // The shown text must appear at least in the name, path, sentence, destination, label,
            // value, query, body and service.
            expect(text.split(shown).length - 1, agentText).toBeGreaterThanOrEqual(12);
          }
          const injectedElements = page.locator(
            'article :is(img, script, iframe, style, link, base, meta, math)',
          );
          expect(await injectedElements.count()).toBe(0);
          expect(page.url()).toBe(`${server.url}/approvals/${approval.id}`);
        },
      );

      test('never makes the page wider than a phone', async () => {
        const longText = 'x'.repeat(5000);
        const approval = approvalOfIssue({
          action_description: longText,
          permission_keys: [longText],
          suggested_tiers: [{ keys: [longText], description: longText }],
          requester: { id: agentId, kind: 'agent', name: longText, path: [longText, longText] },
          disclosed: [{ label: longText, value: longText, truncated: false }],
        });
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`, { viewport: phoneViewport });
        await page
          .getByRole('button', { name: /Show all 5,000 characters/ })
          .first()
          .click();
        await page.getByRole('button', { name: 'Allow and remember' }).click();

        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(
          phoneViewport.width,
        );
      });

      test('is truncated with a count of the missing characters, and shown in full on demand', async () => {
        const approval = approvalOfIssue({
          disclosed: [{ label: 'Text', value: 'word '.repeat(2000), truncated: true }],
        });
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);
        const field = page.locator('dd').first();

        expect((await field.textContent())?.length).toBeLessThan(900);
        expect(await field.textContent()).toContain('The gateway cut this off here');
        await field
          .getByRole('button', { name: 'Show all 10,000 characters (9,400 more)' })
          .click();
        await field.getByRole('button', { name: 'Show less' }).waitFor();
        expect(await field.textContent()).toContain('word '.repeat(2000));
      });
    });

    describe('many tabs of one browser', () => {
      // A browser opens at most six HTTP/1.1 connections to a host. An event stream for each tab
      // would use them up.
      test('all load and receive the events, also after the tab with the stream was closed', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const first = await open(`/approvals/${approval.id}`, { isOwn: true });
        const others: Page[] = [];
        for (let count = 0; count < 7; count += 1) {
          const page = await first.context().newPage();
          others.push(page);
          await page.goto(first.url());
          await page.getByText('Live', { exact: true }).waitFor();
        }
        await first.close();

        await others[0]?.getByText('Live', { exact: true }).waitFor();
        server.changeApproval(approval.id, deniedBy('Ben', null));
        for (const page of others) await page.getByText('Denied by Ben').first().waitFor();
      });

      test.for([
        ['has no locks, as over http', 'delete Navigator.prototype.locks'],
        ['refuses locks', "navigator.locks.request = () => Promise.reject(new Error('refused'))"],
      ])('receive the events if the browser %s', async ([, script = '']) => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const first = await open(`/approvals/${approval.id}`, { isOwn: true });
        const page = await first.context().newPage();
        await page.addInitScript(script);
        await page.goto(first.url());
        await page.getByText('Live', { exact: true }).waitFor();

        server.changeApproval(approval.id, deniedBy('Ben', null));
        await page.getByText('Denied by Ben').first().waitFor();
      });
    });

    describe('a session that ends while something is typed', () => {
      test('hides the page, which is shown again with the typed text after sign-in', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`, { isOwn: true });
        await page.getByRole('button', { name: /^Deny/ }).click();
        await page.locator('textarea').fill('A reason that took a while.');

        server.me = null;
        await page.getByRole('button', { name: /^Deny/ }).last().click();
        await page.getByText('You are signed out').waitFor();
        expect(await page.getByRole('link', { name: /in a new tab/ }).getAttribute('href')).toBe(
          '/sign-in',
        );
        expect(await page.locator('textarea').isVisible()).toBe(false);

        server.me = ann;
        await page.evaluate("dispatchEvent(new Event('focus'))");
        await page.locator('textarea').waitFor();
        expect(await page.locator('textarea').inputValue()).toBe('A reason that took a while.');
        await page.getByRole('button', { name: /^Deny/ }).last().click();
        await expect
          .poll(() => server.resolutions)
          .toMatchObject([{ resolution: 'deny', reason: 'A reason that took a while.' }]);
      });

      test('never shows the typed text to another person', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`, { isOwn: true });
        await page.getByRole('button', { name: /^Deny/ }).click();
        await page.locator('textarea').fill('For Ann alone.');
        server.me = null;
        await page.getByRole('button', { name: /^Deny/ }).last().click();
        await page.getByText('You are signed out').waitFor();

        server.me = { ...ann, id: agentId, name: 'ben', path: ['ben'] };
        await page.evaluate("dispatchEvent(new Event('focus'))");
        await page.getByRole('button', { name: /^Deny/ }).first().waitFor();
        expect(await page.getByText('For Ann alone.').count()).toBe(0);
        expect(await page.locator('textarea').count()).toBe(0);
      });
    });

    describe('a decision on an approval', () => {
      test('fails at once without a network, and is not sent by itself when the network is back', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`, { isOwn: true });
        await page.getByRole('button', { name: /^Allow once/ }).waitFor();
        await page.context().setOffline(true);
        await page.getByRole('button', { name: /^Allow once/ }).click();
        await page.getByText('The gateway cannot be reached').first().waitFor();

        await page.context().setOffline(false);
        server.changeApproval(
          approval.id,
          { action_description: 'Seen again' },
          'approval.bubbled',
        );
        await page.getByText('Seen again').first().waitFor();
        expect(server.resolutions).toEqual([]);
        await page.getByRole('button', { name: /^Allow once/ }).click();
        await expect.poll(() => server.resolutions.length).toBe(1);
      });

      test('is shown on the open card if another person made it, and replaces the form that was begun', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: /^Deny/ }).click();
        await page.getByRole('textbox').fill('Because');

        server.changeApproval(approval.id, deniedBy('Ben', 'Not on a Friday'));

        await page.getByText('Denied by Ben').first().waitFor();
        await page.getByText('“Not on a Friday”').waitFor();
        await page.getByText('nothing of yours was applied').waitFor();
        expect(await page.getByRole('textbox').count()).toBe(0);
        expect(server.resolutions).toEqual([]);
      });

      test('is not applied if it comes after another decision, which is shown instead', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);

        // Another person has decided the approval, but the event of that decision was not sent yet.
        server.beforeResolve = () => {
          server.approvals = [{ ...approval, ...deniedBy('Ben', null) }];
        };
        await page.getByRole('button', { name: /Allow once/ }).click();

        await page.getByText('Denied by Ben').first().waitFor();
        await page.getByText('nothing of yours was applied').waitFor();
        expect(await page.getByRole('alert').count()).toBe(0);
      });

      test('is shown with the reason and the request id if it fails, and can be retried', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();
        server.failures.push({
          path: `/v1/approvals/${approval.id}/resolve`,
          status: 503,
          body: { error: 'unavailable', message: 'Try again.', request_id: 'request-42' },
        });

        await page.getByRole('button', { name: /Allow once/ }).click();
        const alert = page.getByRole('alert');
        await alert.waitFor();
        expect(await alert.textContent()).toContain('request-42');

        await page.getByRole('button', { name: /Allow once/ }).click();
        await page.getByText('Allowed by you').first().waitFor();
        expect(server.resolutions).toHaveLength(1);
      });

      test('remembers the narrowest suggested rule for 24 hours by default, and lists what else the rule allows', async () => {
        const approval = approvalOfIssue();
        const otherApproval = approvalOfIssue({
          action_description: 'Create issue "Second" in acme/api',
          permission_keys: ['github:create_issue:acme/api'],
        });
        server.approvals = [approval, otherApproval];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();
        await page.keyboard.press('r');
        expect(await page.getByRole('radio').first().isChecked()).toBe(true);
        expect(await page.getByRole('checkbox').count()).toBe(0);

        await page.getByRole('radio').nth(1).check();
        const alsoAllowCheckbox = page.getByRole('checkbox', { name: /Also allow this call/ });
        await alsoAllowCheckbox.waitFor();
        await page.getByRole('radio').first().check();
        await page.getByRole('button', { name: 'Allow and remember' }).click();

        await page.getByText('and remembered').waitFor();
        expect(server.resolutions).toEqual([
          {
            id: approval.id,
            resolution: 'allow_remember',
            remember_keys: ['github:create_issue:acme/site'],
            ttl: '24h',
            cascade: false,
          },
        ]);
      });

      test('is not offered to an auditor', async () => {
        server.me = { ...ann, role: 'auditor' };
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);

        await page.getByText('as an auditor').waitFor();
        await page.keyboard.press('a');
        expect(await page.getByRole('button', { name: /Allow|Deny/ }).count()).toBe(0);
        expect(server.resolutions).toEqual([]);
      });

      test('can be bubbled up by an admin who is not an ancestor of the requester', async () => {
        const approval = approvalOfIssue({
          requester: { id: 'b', kind: 'subagent', name: 'sub', path: ['Ben', 'bot', 'sub'] },
          resolver_id: agentId,
          may_resolve: ['ben', agentId],
        });
        server.approvals = [approval, approvalOfRead()];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: 'Hand up to Ben' }).waitFor();

        await page.goto(`${server.url}/approvals/${server.approvals[1]?.id}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();
        expect(await page.getByRole('button', { name: /Hand up/ }).count()).toBe(0);
      });
    });

    describe('the keyboard', () => {
      test('moves the selection in the queue, and decides the approval that is open', async () => {
        const [first, second, third] = [
          approvalOfIssue(),
          approvalOfIssue({ created_at: minutesFromNow(1) }),
          approvalOfDeletion({ created_at: minutesFromNow(2) }),
        ];
        server.approvals = [third, second, first];
        const page = await open('/approvals');
        await page.waitForURL(`**/${first.id}`);

        await page.keyboard.press('j');
        await page.waitForURL(`**/${second.id}`);
        await page.keyboard.press('k');
        await page.waitForURL(`**/${first.id}`);
        await page.keyboard.press('a');
        await page.getByText('Allowed by you').first().waitFor();
        await page.keyboard.press('j');
        await page.waitForURL(`**/${second.id}`);
        await page.keyboard.press('d');
        // These keys are shortcuts elsewhere on the page, but only text in the field for the
        // reason.
        await page.keyboard.type('a j r d ?');
        await page.keyboard.press('Control+Enter');
        await page.getByText('“a j r d ?”').waitFor();

        expect(server.resolutions).toEqual([
          { id: first.id, resolution: 'allow' },
          { id: second.id, resolution: 'deny', reason: 'a j r d ?' },
        ]);
      });

      test('does nothing for a browser shortcut or while a dialog is open', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();

        await page.keyboard.press('Control+a');
        await page.keyboard.press('?');
        await page.getByRole('dialog').waitFor();
        await page.keyboard.press('a');
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        expect(server.resolutions).toEqual([]);
      });
    });

    describe('the outcome of an allowed call', () => {
      const endedFieldsOf = (differences: object) => ({
        status: 'allowed' as const,
        resolution: 'allow' as const,
        resolved_at: new Date().toISOString(),
        resolved_by: { id: ann.id, kind: 'user' as const, name: ann.name, path: ann.path },
        execution: {
          id: 'e',
          status: 'failed' as const,
          runtime: 'http' as const,
          triggered_by: 'auto' as const,
          created_at: new Date().toISOString(),
          started_at: null,
          finished_at: new Date().toISOString(),
          expires_at: minutesFromNow(15),
          ...differences,
        },
      });

      test.each([
        [
          'is shown as unknown, and not as a failure, if it is unknown',
          { error: { error: 'outcome_unknown', message: 'x' } },
          'It is not known whether this happened',
        ],
        [
          'is shown with the message of a typed error',
          { error: { error: 'approval_stale', message: 'The service has changed; ask again.' } },
          'The service has changed; ask again.',
        ],
        [
          'is shown with the status of the service’s error',
          {
            status: 'executed' as const,
            http_status_code: 422,
            result: { status_code: 422, headers: {}, duration_ms: 12, body: 'Validation failed' },
          },
          'answered 422',
        ],
        [
          'says that the call was not run in time',
          { status: 'expired' as const },
          'was not run in time',
        ],
        [
          'says that the call was stopped',
          { status: 'cancelled' as const },
          'stopped before it ran',
        ],
      ])('%s', async (_, differences, sentence) => {
        const approval = approvalOfIssue(endedFieldsOf(differences));
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}?show=decided`);

        await page.getByText(sentence).waitFor();
        expect(await findAccessibilityProblems(page)).toEqual([]);
      });

      test('is still open while the call waits for its agent: a person can run or stop the call', async () => {
        const approval = approvalOfIssue({
          ...endedFieldsOf({ status: 'pending', finished_at: null, triggered_by: null }),
          auto_call_on_approve: false,
        });
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);

        await page.getByText('Runs when deploy-bot asks for it again').waitFor();
        await page.getByRole('button', { name: 'Run it now' }).waitFor();
        await page.getByRole('button', { name: 'Stop it' }).waitFor();
      });
    });

    describe('a time that changes while it is shown', () => {
      const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
      /** Records every text or element that moves from now on. */
      const observeMoves = (page: Page) =>
        page.evaluate(`
          window.moves = [];
          new PerformanceObserver((list) => {
            for (const { sources } of list.getEntries())
              moves.push(...sources.map(({ node }) => node?.nodeName + ' ' + node?.textContent));
          }).observe({ type: 'layout-shift' });`);

      test.each(['/approvals?show=decided', '/approvals', '/activity', '/'])(
        'causes no layout shift on %s',
        async (path) => {
          // The ages in minutes. A minute later, the texts that show these ages have other lengths.
          const ages = [0, 59, 9, 0.5];
          server.approvals = ages.flatMap((minutes) => [
            approvalOfIssue({
              status: 'denied',
              resolution: 'deny',
              resolved_at: minutesAgo(minutes),
              resolved_by: { id: 'ben', kind: 'user', name: 'Ben', path: ['Ben'] },
            }),
            approvalOfIssue({ expires_at: minutesAgo(minutes - 70.1) }),
          ]);
          const call = { ...blankAuditEntry('Created an issue'), outcome: 'called' } as const;
          const rows = ages.map((minutes, at) => {
            const subject = { id: agentId, kind: 'agent', name: 'bot', path: ['ann', 'bot'] };
            const when = { id: `${at}`, type: 'action.outcome', at: minutesAgo(minutes) };
            return { ...call, ...when, identity: subject };
          });
          server.me = { ...ann, role: 'member' };
          const emptyList = { items: [], next_cursor: null };
          server.answers = {
            '/v1/audit': { items: rows, next_cursor: null },
            '/v1/identities': emptyList,
            '/v1/requests': emptyList,
            '/v1/services': emptyList,
            '/v1/profile/visit': { previous_visit_at: minutesAgo(0) },
            '/v1/usage': { from: minutesAgo(0), to: minutesAgo(0), by: 'outcome', items: [] },
          };
          const page = await open('about:blank', { viewport: phoneViewport, isOwn: true });
          await page.clock.install();
          await page.goto(server.url + path);
          const times = page.getByRole('main').locator('time, [role=timer]');
          await times.nth(3).waitFor();
          await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
          const textsBefore = await times.allTextContents();

          await observeMoves(page);
          await page.clock.fastForward(60_000);
          await expect.poll(() => times.allTextContents()).not.toEqual(textsBefore);
          // A layout shift is reported after the next frame.
          await page.evaluate('new Promise((done) => setTimeout(done, 300))');
          expect(await page.evaluate('moves')).toEqual([]);
        },
      );
    });

    describe('the dashboard, when the gateway does not answer as expected', () => {
      test('reconnects by itself, and then shows what happened meanwhile', async () => {
        server.approvals = [approvalOfIssue()];
        const page = await open('/approvals');
        await page.getByText('Live', { exact: true }).waitFor();
        const missedApproval = approvalOfIssue({ action_description: 'Raised meanwhile' });

        server.approvals = [missedApproval, ...server.approvals];
        server.cutStreams();

        await page.getByText('Raised meanwhile').first().waitFor();
        await page.getByText('Live', { exact: true }).waitFor();
      });

      test('leads from any page to the sign-in page when the session has ended', async () => {
        const approval = approvalOfIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();

        server.me = null;
        server.cutStreams();
        await page.waitForURL(/\/sign-in\?/);
        const returnTo = new URL(page.url()).searchParams.get('return_to');
        expect(returnTo).toBe(`/approvals/${approval.id}`);

        server.me = ann;
        await page.goto(`${server.url}${returnTo}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();
      });

      test('shows an error answer with its request id and a button to retry', async () => {
        server.approvals = [approvalOfIssue()];
        const failuresMax = 20;
        const failure = { path: '/v1/approvals', status: 500 };
        server.failures.push(...Array.from({ length: failuresMax }, () => failure));
        const page = await open('/approvals', { viewport: phoneViewport });
        await page.getByText('request-internal').waitFor();
        // The list and the navigation each sent one request when the page opened, and one when the
        // event stream opened. The page must not send more requests by itself.
        await expect.poll(() => server.failures.length).toBe(failuresMax - 4);
        server.failures.length = 0;

        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByText('Waiting for you').waitFor();
      });

      test('shows a message for an approval that does not exist', async () => {
        const page = await open('/approvals/0199c0de-0000-7000-8000-00000000ffff');

        await page.getByRole('heading', { name: 'There is no such approval' }).waitFor();
      });
    });

    describe.each([
      ['the dashboard on a desktop', desktopViewport],
      ['the dashboard on a phone', phoneViewport],
    ])('%s', (_, viewport) => {
      test(
        'has no accessibility problem that axe finds, in the light or the dark colour scheme',
        { timeout: 180_000 },
        async () => {
          const [deletion, issue, read] = [
            approvalOfDeletion(),
            approvalOfIssue(),
            approvalOfRead(),
          ];
          server.approvals = [deletion, issue, read];
          const page = await open('/approvals', { viewport });
          await page.getByText('Waiting for you').waitFor();
          await expectUsable(page, viewport.width);

          for (const { id } of [deletion, issue, read]) {
            await page.goto(`${server.url}/approvals/${id}`);
            await page.getByText('The exact request').waitFor();
            await expectUsable(page, viewport.width);
          }
          for (const name of ['Allow and remember', 'Deny']) {
            await page.getByRole('button', { name }).click();
            await expectUsable(page, viewport.width);
            await page.getByRole('button', { name: 'Back' }).click();
          }
          await page.getByRole('button', { name: /Account/ }).click();
          await page.getByRole('button', { name: 'Sign out' }).waitFor();
          await expectUsable(page, viewport.width);
          await page.getByRole('button', { name: 'Sign out' }).click();
          await page.waitForURL(/\/sign-in\?/);
        },
      );

      test('keeps the decision buttons visible however long the card is', async () => {
        const approval = approvalOfIssue({
          disclosed: Array.from({ length: 40 }, (_each, at) => ({
            label: `Field ${at}`,
            value: 'value',
            truncated: false,
          })),
        });
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`, { viewport });

        for (const name of [/Deny/, /Allow and remember/, /Allow once/]) {
          const box = await page.getByRole('button', { name }).boundingBox();
          expect(box?.y).toBeGreaterThan(viewport.height / 2);
          expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(viewport.height);
          expect(box?.height).toBeGreaterThanOrEqual(44);
        }
      });
    });

    async function expectUsable(page: Page, width: number) {
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }

    function deniedBy(name: string, reason: string | null) {
      return {
        status: 'denied' as const,
        resolution: 'deny' as const,
        reason,
        resolved_at: new Date().toISOString(),
        resolved_by: { id: 'ben', kind: 'user' as const, name, path: [name] },
      };
    }
  },
);

/**
 * Returns fields of an approval, with the agent's text in every field that can contain such text.
 */
function fillEveryField(agentText: string): Partial<ApprovalResponse> {
  return {
    requester: { id: agentId, kind: 'agent', name: agentText, path: ['Ann', agentText] },
    placement: { id: agentId, kind: 'agent', name: agentText },
    service: agentText,
    template: agentText,
    action: agentText,
    action_description: agentText,
    permission_keys: [agentText],
    suggested_tiers: [{ keys: [agentText], description: agentText }],
    disclosed: [{ label: agentText, value: agentText, truncated: true }],
    request: {
      method: agentText,
      url: `https://api.example.com/${agentText}?q=${encodeURIComponent(agentText)}`,
      params: { [agentText]: agentText },
      headers: { [agentText]: agentText },
      content_type: agentText,
      body: agentText,
      credentials: [
        {
          kind: 'secret',
          name: agentText,
          account: agentText,
          in: 'header',
          key: agentText,
          prefix: agentText,
        },
      ],
    },
  };
}

function minutesFromNow(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString();
}
