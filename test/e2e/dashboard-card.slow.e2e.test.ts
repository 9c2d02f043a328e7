import { beforeAll, describe, expect, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { findAccessibilityProblems, findProblemsInBothSchemes } from '../browser/axe.ts';
import { desktopViewport, phoneViewport, useDashboard } from '../browser/dashboard.testing.ts';
import type { FixtureServer } from '../browser/fixture-server.testing.ts';
import {
  approvalOfDeletion,
  approvalOfRead,
  approvalOfIssue,
  ann,
} from '../browser/fixtures.testing.ts';
import { needs } from '../support/needs.ts';

const chromium = needs('chromium');
const smallPhone = { width: 360, height: 640 };

/**
 * The tests check what a person reads on the card of one approval, and which clicks and keys allow
 * the call.
 */
describe.skipIf(!chromium.isAvailable)(
  `the card of an approval in the dashboard${chromium.note}`,
  () => {
    const dashboard = useDashboard();
    const { open } = dashboard;
    let server: FixtureServer;
    beforeAll(() => {
      ({ server } = dashboard);
    });

    async function openCard(approval: ApprovalResponse, options = {}): Promise<Page> {
      server.approvals = [approval];
      const page = await open(`/approvals/${approval.id}`, options);
      await page.getByText('The exact request').waitFor();
      return page;
    }

    const findField = (page: Page, label: string) =>
      page.locator('dl > div', { has: page.locator('dt', { hasText: label }) }).locator('dd');
    const findButton = (page: Page, name: RegExp) => page.getByRole('button', { name });

    describe('a credential that the provider refused', () => {
      const refused_at = new Date(Date.now() - 3 * 3_600_000).toISOString();
      const account = { name: 'github', tier: 'user', owner_id: ann.id, refused_at } as const;
      const warning = 'This call will probably fail';

      test('is named at the top, with a link to connect the account again', async () => {
        server.connections = [{ ...account, id: 'c1' }];
        const page = await openCard(approvalOfIssue({ service_title: 'GitHub' }), {
          viewport: smallPhone,
        });

        await page.getByText(warning).waitFor();
        await page.getByText('GitHub refused the account github 3 h ago.').waitFor();
        const link = page.getByRole('link', { name: 'Connect the account again' });
        expect(await link.getAttribute('href')).toBe('/connect/repair/c1');
        expect(await findProblemsInBothSchemes(page)).toEqual([]);
      });

      test.for<[whose: string, differences: Partial<ApprovalResponse>]>([
        ['the call has ended', { status: 'denied' }],
        ['the credential is another user’s', { may_resolve: ['somebody'] }],
      ])('is not named when %s', async ([, differences]) => {
        server.connections = [{ ...account, id: 'c1' }];
        const page = await openCard(approvalOfIssue(differences));
        expect(await page.getByText(warning).count()).toBe(0);
      });
    });

    describe('a request', () => {
      test('is shown with its content type and every header’s value', async () => {
        const page = await openCard(
          withRequest({
            headers: { 'x-amz-target': 'DynamoDB.DeleteTable', sudo: 'root', cookie: '[REDACTED]' },
            content_type: 'application/x-www-form-urlencoded',
            body: 'title=t&amount=1',
            redacted: ['/headers/cookie'],
          }),
        );

        const headers = (await findField(page, 'Headers').textContent()) ?? '';
        for (const part of [
          'x-amz-target:DynamoDB.DeleteTable',
          'sudo:root',
          'cookie:[REDACTED]',
        ]) {
          expect(headers).toContain(part);
        }
        expect(await findField(page, 'Content type').textContent()).toBe(
          'application/x-www-form-urlencoded',
        );
        expect(await findField(page, 'Body').textContent()).toBe('title=t&amount=1');
        const hidden =
          'Hidden: headers › cookie. Anywhere else [REDACTED] is what the agent wrote.';
        await page.getByText(hidden).waitFor();
      });

      test('has a warning in plain words at the top if it contains invisible characters', async () => {
        const warning = /contains invisible characters/;
        for (const hidden of [
          { body: { title: 'invoice\u202Egpj.exe' } },
          { body: 'zero\u200Bwidth' },
          { headers: { 'x-note': 'pay\u2066lap' } },
          { url: 'https://api.example.com/re%E2%80%8Bd' },
        ]) {
          const page = await openCard(withRequest(hidden));
          await page.getByText(warning).waitFor();
          expect(await bottomOf(page.getByText(warning))).toBeLessThan(
            await topOf(page.getByText('The exact request')),
          );
        }
        const plainPage = await openCard(withRequest({ body: { title: 'Zeilen\nund\tTab 👩‍💻 ü' } }));
        expect(await plainPage.getByText(warning).count()).toBe(0);
      });

      test('shows the names of invisible characters in a header, and executes no markup', async () => {
        const page = await openCard(
          withRequest({
            headers: { 'x-note': 'pay\u202Elap \u200B<img src=x onerror=alert(1)>' },
            content_type: 'text/\u2066html',
          }),
        );

        expect(await findField(page, 'Headers').textContent()).toBe(
          'x-note:payU+202Elap U+200B<img src=x onerror=alert(1)>',
        );
        expect(await findField(page, 'Content type').textContent()).toBe('text/U+2066html');
        expect(await page.locator('article img').count()).toBe(0);
      });

      test('is shown with the destination of each credential and the owner of its account', async () => {
        const page = await openCard(
          withRequest({
            credentials: [
              {
                kind: 'connection',
                name: 'work-github',
                account: 'ann@acme.example',
                in: 'header',
                key: 'Authorization',
                prefix: 'Bearer ',
              },
              { kind: 'secret', name: 'mysek', in: 'query', key: 'note' },
            ],
          }),
        );

        const places = await findField(page, 'Credentials').locator('li').allTextContents();
        expect(places).toEqual([
          'Authorization header from the connection work-github (ann@acme.example), sent as Bearer •••',
          'note query parameter from the secret mysek',
        ]);
        await page.getByText('Account ann@acme.example (work-github), secret mysek').waitFor();
      });

      test('is marked as sent without a credential if it has none', async () => {
        const page = await openCard(approvalOfRead());

        await page.getByText('No account and no secret').waitFor();
      });

      test('shows the account and the first fields above the buttons on a small phone', async () => {
        const values = ['acme/site', 'p1', 'this label and no issue'];
        const page = await openCard(
          approvalOfIssue({
            risk: 'high',
            action_description: 'Delete label p1 of acme/site',
            disclosed: values.map((value, at) => ({
              label: `Field ${at}`,
              value,
              truncated: false,
            })),
          }),
          { viewport: smallPhone },
        );

        const buttonsTop = await topOf(page.getByRole('timer').last());
        expect(await bottomOf(page.getByText('Account acme-bot'))).toBeLessThan(buttonsTop);
        for (const at of values.keys()) {
          expect(await bottomOf(findField(page, `Field ${at}`)), `field ${at}`).toBeLessThan(
            buttonsTop,
          );
        }
      });
    });

    test('shows on a small phone in this order, without scrolling: risk, requester, sentence, account, three fields, time left', async () => {
      // The third field has eight lines. Only the first two are shown at first.
      const page = await openCard(approvalOfIssue(), { viewport: smallPhone });
      const parts = [
        page.locator('article').getByText('Medium risk'),
        page.locator('article p', { hasText: 'agent, path:' }),
        page.getByRole('heading', { level: 1 }),
        page.getByText('Account acme-bot'),
        findField(page, 'Repository'),
        findField(page, 'Title'),
        findField(page, 'Text'),
        page.getByRole('timer').last(),
        findButton(page, /Allow once/),
      ];
      const tops = await Promise.all(parts.map(topOf));
      expect(tops).toEqual(tops.toSorted((one, other) => one - other));
      expect(await bottomOf(findField(page, 'Text'))).toBeLessThan(
        await topOf(page.getByRole('timer').last()),
      );
      expect(await bottomOf(findButton(page, /Allow once/))).toBeLessThanOrEqual(640);
      expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY');

      await findField(page, 'Text')
        .getByRole('button', { name: /Show all/ })
        .click();
      expect(await findField(page, 'Text').textContent()).toContain('Seen: a blank page.');
    });

    test('never has the focus on a button that allows, when it is opened from the list', async () => {
      server.approvals = [approvalOfIssue(), approvalOfRead({ resolver_id: ann.id })];
      const page = await open('/approvals');
      await findButton(page, /Allow once/).waitFor();
      for (const key of ['j', 'k']) {
        await page.keyboard.press(key);
        await findButton(page, /Allow once/).waitFor();
        await page.keyboard.press('Enter');
        await page.keyboard.press('Space');
      }
      expect(server.resolutions).toEqual([]);
    });

    test('shows how many disclosed fields are below the bar, until the page is scrolled to them', async () => {
      const disclosed = Array.from({ length: 30 }, (_each, at) => ({
        label: `Field ${at}`,
        value: 'value',
        truncated: false,
      }));
      const page = await openCard(approvalOfIssue({ disclosed }), { viewport: smallPhone });
      const hint = page.getByText(/\d+ fields? below$/);
      await hint.waitFor();
      expect(Number(/\d+/.exec((await hint.textContent()) ?? '')?.[0])).toBeGreaterThan(20);
      await expect
        .poll(() => page.evaluate('document.documentElement.scrollWidth'))
        .toBe(smallPhone.width);
      expect(await findAccessibilityProblems(page)).toEqual([]);

      await page.getByText('Where and by which permission').scrollIntoViewIfNeeded();
      await hint.waitFor({ state: 'detached' });
    });

    describe('a request that is too large to be shown whole', () => {
      const createLargeApproval = (differences: Partial<ApprovalResponse> = {}) =>
        withRequest(
          {
            too_large: true,
            body: { title: 'Whole title', text: 'AAAA…', labels: ['bug'] },
            shortened: [
              { at: '/body/text', bytes: 812_000, sha256: '9f86d081'.repeat(8) },
              {
                at: '/body/labels',
                bytes: 90_000,
                sha256: 'a'.repeat(64),
                entries: 4000,
                shown: 1,
              },
            ],
          },
          differences,
        );

      test('shows every name, and how much of each value is missing', async () => {
        const page = await openCard(createLargeApproval());

        const text = (await page.locator('article').textContent()) ?? '';
        for (const part of [
          'Too large to be shown whole',
          'Of 2 values only the beginning is shown',
          'body › text: 793 KiB',
          '9f86d081'.repeat(8),
          'body › labels: 88 KiB, 1 of 4000 entries shown',
          '"title": "Whole title"',
        ]) {
          expect(text).toContain(part);
        }
        expect(await findAccessibilityProblems(page)).toEqual([]);
      });

      test('is allowed only by a second click on a button that says so, and cannot be remembered', async () => {
        const approval = createLargeApproval();
        const page = await openCard(approval);
        expect(await findButton(page, /remember/).count()).toBe(0);
        await page.keyboard.press('r');
        expect(await page.getByRole('radio').count()).toBe(0);

        await findButton(page, /Allow once/).click();
        await page.getByText('You cannot see all of what it sends.').waitFor();
        await findButton(page, /Yes, allow it/).click();

        await page.getByText('Allowed by you').first().waitFor();
        expect(server.resolutions).toEqual([
          { id: approval.id, resolution: 'allow', acknowledge: 'too_large' },
        ]);
      });

      test('is denied with one click', async () => {
        const approval = createLargeApproval();
        const page = await openCard(approval);
        await findButton(page, /^Deny/).click();
        await page.getByRole('button', { name: 'Deny', exact: true }).click();

        await page.getByText('Denied by you').first().waitFor();
        expect(server.resolutions).toEqual([{ id: approval.id, resolution: 'deny' }]);
      });
    });

    describe('a request that differs from the suspended call', () => {
      const changedApproval = approvalOfIssue({ verified: false, unverified: 'changed' });

      test('has a warning above everything else, and cannot be allowed by button or key', async () => {
        const page = await openCard(changedApproval);
        const warning = page.getByText(/^Not verified/);
        await warning.waitFor();
        expect(await bottomOf(warning)).toBeLessThan(
          await topOf(page.getByText('What it will do')),
        );
        expect(await findButton(page, /Allow/).count()).toBe(0);

        for (const key of ['a', 'y', 'r']) await page.keyboard.press(key);
        expect(await page.getByRole('radio').count()).toBe(0);
        expect(server.resolutions).toEqual([]);
        expect(await findAccessibilityProblems(page)).toEqual([]);
      });

      test('can be denied', async () => {
        const page = await openCard(changedApproval, { viewport: smallPhone });
        await findButton(page, /^Deny/).click();
        await page.getByRole('button', { name: 'Deny', exact: true }).click();

        await page.getByText('Denied by you').first().waitFor();
      });

      test('cannot be allowed together with another request', async () => {
        const approval = approvalOfIssue();
        server.approvals = [
          approval,
          { ...changedApproval, id: '0199c0de-0000-7000-8000-0000000009ff' },
        ];
        const page = await open(`/approvals/${approval.id}`);
        await findButton(page, /remember/).click();
        await page.getByRole('radio').nth(1).check();

        expect(await page.getByRole('checkbox', { name: /Also allow/ }).count()).toBe(0);
      });
    });

    describe('a call that an earlier version of the gateway suspended', () => {
      const earlierApproval = withRequest(
        { headers: {}, content_type: null, credentials: [] },
        { verified: false, unverified: 'earlier_version' },
      );

      test('has a note instead of a warning, and shows only what the earlier version recorded', async () => {
        const page = await openCard(earlierApproval);
        await page.getByText('An earlier version of the gateway raised this').waitFor();

        const text = (await page.locator('article').textContent()) ?? '';
        expect(text).not.toContain('Not verified');
        expect(text).not.toContain('No account and no secret');
        expect(await findField(page, 'Credentials').textContent()).toBe('not recorded');
        expect(await findField(page, 'Headers').textContent()).toBe('not recorded');
        expect(await findButton(page, /Allow/).count()).toBe(0);
        expect(await findButton(page, /^Deny/).count()).toBe(1);
        expect(await findAccessibilityProblems(page)).toEqual([]);
      });
    });

    describe('the confirmation of a risky call', () => {
      const createDeletionApproval = (differences: Partial<ApprovalResponse> = {}) =>
        approvalOfIssue({
          risk: 'high',
          action_description: 'Delete label p1 of acme/site',
          disclosed: [
            { label: 'Repository', value: 'acme/site', truncated: false },
            { label: 'Label', value: 'p1', truncated: false },
          ],
          ...differences,
        });

      test('names the target, and has the button to go back where the button to allow was', async () => {
        const approval = createDeletionApproval();
        const page = await openCard(approval, { viewport: phoneViewport });
        const allowBox = await findButton(page, /Allow once/).boundingBox();

        await findButton(page, /Allow once/).click();
        const question = page.getByRole('group', { name: 'Delete label p1 of acme/site?' });
        await question.waitFor();
        expect(await question.locator('strong').allTextContents()).toEqual(['p1', 'acme/site']);
        expect(await findButton(page, /Deny|Allow/).count()).toBe(0);
        expect(await page.getByRole('dialog').count()).toBe(0);

        const [x, y] = centreOf(allowBox);
        await page.mouse.click(x, y);
        await findButton(page, /Allow once/).waitFor();
        expect(server.resolutions).toEqual([]);

        await findButton(page, /Allow once/).click();
        await findButton(page, /Yes, delete/).click();
        await page.getByText('Allowed by you').first().waitFor();
        expect(server.resolutions).toEqual([{ id: approval.id, resolution: 'allow' }]);
      });

      test('ignores a click that comes too fast to be intended', async () => {
        const approval = createDeletionApproval();
        const page = await openCard(approval, { isOwn: true });
        await page.clock.install();
        await page.clock.pauseAt(Date.now() + 60_000);

        await page.keyboard.press('a');
        await page.getByRole('group', { name: /Delete label/ }).waitFor();
        expect(await findButton(page, /Yes, delete/).isDisabled()).toBe(true);
        await page.clock.runFor(650);
        await page.keyboard.press('y');
        await page.keyboard.press('a');
        await page.clock.runFor(40);
        expect(await findButton(page, /Yes, delete/).isDisabled()).toBe(true);
        expect(server.resolutions).toEqual([]);

        await page.clock.runFor(20);
        expect(await findButton(page, /Yes, delete/).isEnabled()).toBe(true);
        await page.clock.resume();
        await page.keyboard.press('y');
        await page.getByText('Allowed by you').first().waitFor();
        expect(server.resolutions).toHaveLength(1);
      });

      test('is answered by keys: a opens it, y confirms, Escape and Enter go back', async () => {
        const page = await openCard(createDeletionApproval());
        const question = page.getByRole('group', { name: /Delete label/ });

        for (const key of ['Escape', 'Enter']) {
          await page.keyboard.press('a');
          await question.waitFor();
          await expect.poll(() => findButton(page, /Yes, delete/).isEnabled()).toBe(true);
          await page.keyboard.press(key);
          await findButton(page, /Allow once/).waitFor();
          expect(await question.count()).toBe(0);
        }
        await page.keyboard.press('y');
        expect(server.resolutions).toEqual([]);

        await page.keyboard.press('a');
        await expect.poll(() => findButton(page, /Yes, delete/).isEnabled()).toBe(true);
        await page.keyboard.press('y');
        await page.getByText('Allowed by you').first().waitFor();
      });

      test('comes after the choice of what to remember, and keeps that choice when the person goes back', async () => {
        const approval = createDeletionApproval();
        const page = await openCard(approval);
        await page.keyboard.press('r');
        await page.getByRole('radio').nth(1).check();
        await page.getByLabel('For', { exact: true }).selectOption('7 days');
        await page.getByRole('button', { name: 'Allow and remember' }).click();
        await page.getByText('deploy-bot may do the same for 7 days without asking.').waitFor();
        expect(server.resolutions).toEqual([]);

        await page.keyboard.press('Escape');
        expect(await page.getByRole('radio').nth(1).isChecked()).toBe(true);
        await page.getByRole('button', { name: 'Allow and remember' }).click();
        await findButton(page, /Yes, delete and remember/).click();

        await page.getByText('and remembered').waitFor();
        expect(server.resolutions).toEqual([
          {
            id: approval.id,
            resolution: 'allow_remember',
            remember_keys: ['github:create_issue:*'],
            ttl: '7d',
            cascade: false,
          },
        ]);
      });

      test('is needed to run an allowed call of high risk, but not to stop the call', async () => {
        const approval = createDeletionApproval({
          ...allowedFields({ status: 'pending' }),
          auto_call_on_approve: false,
        });
        const page = await openCard(approval, { viewport: phoneViewport });
        const runBox = await findButton(page, /Run it now/).boundingBox();

        await findButton(page, /Run it now/).click();
        await page.getByRole('group', { name: 'Delete label p1 of acme/site?' }).waitFor();
        const backBox = await findButton(page, /Go back/).boundingBox();
        expect(Math.abs((backBox?.x ?? 0) - (runBox?.x ?? 0))).toBeLessThan(4);
        await page.keyboard.press('Escape');
        await findButton(page, /Stop it/).waitFor();
        expect(server.calls).toEqual([]);

        await findButton(page, /Run it now/).click();
        await findButton(page, /Yes, delete/).click();
        await expect.poll(() => server.calls).toEqual([approval.id]);
      });

      test.each([
        ['reads', approvalOfRead({ resolver_id: ann.id })],
        ['writes', approvalOfIssue()],
      ])('is not needed for a call that %s', async (_, approval) => {
        const page = await openCard(approval);
        await page.keyboard.press('a');

        await page.getByText('Allowed by you').first().waitFor();
        expect(server.resolutions).toEqual([{ id: approval.id, resolution: 'allow' }]);
      });

      test('is not needed to deny a deletion', async () => {
        const page = await openCard(createDeletionApproval());
        await page.keyboard.press('d');
        await page.getByRole('textbox').waitFor();
        await page.keyboard.press('Control+Enter');

        await page.getByText('Denied by you').first().waitFor();
      });

      test('disappears when another person decides', async () => {
        const approval = createDeletionApproval();
        const page = await openCard(approval);
        await findButton(page, /Allow once/).click();
        await page.getByRole('group', { name: /Delete label/ }).waitFor();

        server.changeApproval(approval.id, {
          status: 'denied',
          resolution: 'deny',
          resolved_at: new Date().toISOString(),
          resolved_by: { id: 'ben', kind: 'user', name: 'Ben', path: ['Ben'] },
        });

        await page.getByText('Denied by Ben').first().waitFor();
        await page.keyboard.press('y');
        expect(await page.getByRole('group', { name: /Delete label/ }).count()).toBe(0);
        expect(server.resolutions).toEqual([]);
      });

      test('is in the list of keyboard shortcuts', async () => {
        const page = await openCard(approvalOfIssue());
        await page.keyboard.press('?');

        const keys = await page.getByRole('dialog').locator('dl').textContent();
        expect(keys).toContain('yYes, when it is asked for again');
      });

      test.each([
        ['a desktop', desktopViewport],
        ['a phone', phoneViewport],
      ] as const)(
        'is accessible on %s of the size %j, in the light and the dark colour scheme',
        async (_, viewport) => {
          for (const approval of [createDeletionApproval(), approvalOfDeletion()]) {
            const page = await openCard(approval, { viewport });
            await findButton(page, /Allow once/).click();
            await expect.poll(() => findButton(page, /Yes, delete/).isEnabled()).toBe(true);

            expect(await findProblemsInBothSchemes(page)).toEqual([]);
            expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(
              viewport.width,
            );
            for (const name of [/Yes, delete/, /Go back/]) {
              const box = await findButton(page, name).boundingBox();
              expect(box?.height).toBeGreaterThanOrEqual(44);
              expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(viewport.height);
            }
          }
        },
      );
    });

    describe('a decided approval', () => {
      test('describes an ended call in the past tense', async () => {
        const page = await openCard(
          approvalOfIssue(
            allowedFields({
              status: 'executed',
              http_status_code: 201,
              finished_at: currentTime(),
            }),
          ),
        );

        const text = (await page.locator('article').textContent()) ?? '';
        for (const part of ['asked to', 'What it did', 'Had to be allowed', 'Allowed by you']) {
          expect(text).toContain(part);
        }
        expect(text).toContain('github answered 201');
        for (const part of ['asks to', 'What it will do', 'Not allowed yet', 'left to decide']) {
          expect(text).not.toContain(part);
        }
      });

      test('is shown in the list of decided approvals if its link is opened, and stays in its place if it was decided on this page', async () => {
        const pastApproval = approvalOfIssue(
          allowedFields({ status: 'executed', http_status_code: 201 }),
        );
        const page = await openCard(pastApproval);
        await page.waitForURL(`**/${pastApproval.id}?show=decided`);

        const decidedPage = await openCard(approvalOfIssue());
        await findButton(decidedPage, /Allow once/).click();
        await decidedPage.getByText('Allowed by you').first().waitFor();
        expect(new URL(decidedPage.url()).search).toBe('');
      });

      test('says what the call would have done if it was denied', async () => {
        const page = await openCard(
          approvalOfIssue({
            status: 'denied',
            resolution: 'deny',
            reason: 'Not on a Friday',
            resolved_at: currentTime(),
            resolved_by: { id: 'ben', kind: 'user', name: 'Ben', path: ['Ben'] },
          }),
        );

        const text = (await page.locator('article').textContent()) ?? '';
        for (const part of ['asked to', 'What it would have done', 'Denied by Ben', 'just now']) {
          expect(text).toContain(part);
        }
      });

      test('announces the call’s outcome, and never calls an unknown outcome a failure', async () => {
        const approval = approvalOfIssue(allowedFields({ status: 'executing' }));
        const page = await openCard(approval);
        await page.getByText('Running the call…').waitFor();

        const error = { error: 'outcome_unknown', message: 'x' };
        server.changeApproval(
          approval.id,
          allowedFields({ status: 'failed', error, finished_at: currentTime() }),
          'execution.finished',
        );

        await page.getByText('It is not known whether the call happened.').waitFor();
        await page.getByText('What it may have done').waitFor();
      });
    });
  },
);

function withRequest(
  request: Partial<ApprovalResponse['request']>,
  differences: Partial<ApprovalResponse> = {},
): ApprovalResponse {
  const approval = approvalOfIssue(differences);
  return { ...approval, request: { ...approval.request, ...request } };
}

function allowedFields(
  execution: Partial<NonNullable<ApprovalResponse['execution']>>,
): Partial<ApprovalResponse> {
  return {
    status: 'allowed',
    resolution: 'allow',
    resolved_at: currentTime(),
    resolved_by: { id: ann.id, kind: 'user', name: ann.name, path: ann.path },
    execution: {
      id: 'e',
      status: 'pending',
      runtime: 'http',
      triggered_by: null,
      created_at: currentTime(),
      started_at: null,
      finished_at: null,
      expires_at: new Date(Date.now() + 15 * 60_000).toISOString(),
      ...execution,
    },
  };
}

function currentTime(): string {
  return new Date().toISOString();
}

type Box = Awaited<ReturnType<Locator['boundingBox']>>;

function centreOf(box: Box): [x: number, y: number] {
  if (box === null) throw new Error('not shown');
  return [box.x + box.width / 2, box.y + box.height / 2];
}

async function topOf(locator: Locator): Promise<number> {
  return (await locator.boundingBox())?.y ?? -1;
}

async function bottomOf(locator: Locator): Promise<number> {
  const box = await locator.boundingBox();
  return box === null ? Infinity : box.y + box.height;
}
