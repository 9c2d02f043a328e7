import { beforeAll, describe, expect, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { accessibilityProblems } from '../browser/axe.ts';
import { desktop, phone, useDashboard } from '../browser/dashboard.testing.ts';
import type { FixtureServer } from '../browser/fixture-server.testing.ts';
import { aDeletion, aRead, anIssue, ann } from '../browser/fixtures.testing.ts';
import { needs } from '../support/needs.ts';

const chromium = needs('chromium');
const smallPhone = { width: 360, height: 640 };

/** What a person reads on the card of one approval, and what it takes to allow it. */
describe.skipIf(!chromium.available)(`the card of an approval${chromium.note}`, () => {
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

  const field = (page: Page, label: string) =>
    page.locator('dl > div', { has: page.locator('dt', { hasText: label }) }).locator('dd');
  const button = (page: Page, name: RegExp) => page.getByRole('button', { name });

  describe('the request', () => {
    test('has every header with its value, and the content type', async () => {
      const page = await openCard(
        withRequest({
          headers: { 'x-amz-target': 'DynamoDB.DeleteTable', sudo: 'root', cookie: '[REDACTED]' },
          content_type: 'application/x-www-form-urlencoded',
          body: 'title=t&amount=1',
          redacted: ['/headers/cookie'],
        }),
      );

      const headers = (await field(page, 'Headers').textContent()) ?? '';
      for (const part of ['x-amz-target:DynamoDB.DeleteTable', 'sudo:root', 'cookie:[REDACTED]']) {
        expect(headers).toContain(part);
      }
      expect(await field(page, 'Content type').textContent()).toBe(
        'application/x-www-form-urlencoded',
      );
      expect(await field(page, 'Body').textContent()).toBe('title=t&amount=1');
      const hidden = 'Hidden: headers › cookie. Anywhere else [REDACTED] is what the agent wrote.';
      await page.getByText(hidden).waitFor();
    });

    test('that holds what cannot be seen says so in plain words at the top', async () => {
      const warning = /characters that nobody sees/;
      for (const hidden of [
        { body: { title: 'invoice\u202Egpj.exe' } },
        { body: 'zero\u200Bwidth' },
        { headers: { 'x-note': 'pay\u2066lap' } },
        { url: 'https://api.example.com/re%E2%80%8Bd' },
      ]) {
        const page = await openCard(withRequest(hidden));
        await page.getByText(warning).waitFor();
        expect(await bottom(page.getByText(warning))).toBeLessThan(
          await top(page.getByText('The exact request')),
        );
        await page.close();
      }
      const plain = await openCard(withRequest({ body: { title: 'Zeilen\nund\tTab 👩‍💻 ü' } }));
      expect(await plain.getByText(warning).count()).toBe(0);
    });

    test('names in a header what cannot be seen, and runs nothing', async () => {
      const page = await openCard(
        withRequest({
          headers: { 'x-note': 'pay\u202Elap \u200B<img src=x onerror=alert(1)>' },
          content_type: 'text/\u2066html',
        }),
      );

      expect(await field(page, 'Headers').textContent()).toBe(
        'x-note:payU+202Elap U+200B<img src=x onerror=alert(1)>',
      );
      expect(await field(page, 'Content type').textContent()).toBe('text/U+2066html');
      expect(await page.locator('article img').count()).toBe(0);
    });

    test('says which credential goes where, on which account', async () => {
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

      const places = await field(page, 'Credentials').locator('li').allTextContents();
      expect(places).toEqual([
        'Authorization header from the connection work-github (ann@acme.example), sent as Bearer •••',
        'note query parameter from the secret mysek',
      ]);
      await page.getByText('Account ann@acme.example (work-github), secret mysek').waitFor();
    });

    test('without a credential says so', async () => {
      const page = await openCard(aRead());

      await page.getByText('No account and no secret').waitFor();
    });

    test('on a small phone has the account and the first fields above the buttons', async () => {
      const values = ['acme/site', 'p1', 'this label and no issue'];
      const page = await openCard(
        anIssue({
          risk: 'high',
          action_description: 'Delete label p1 of acme/site',
          disclosed: values.map((value, at) => ({ label: `Field ${at}`, value, truncated: false })),
        }),
        { viewport: smallPhone },
      );

      const buttons = await top(page.getByRole('timer').last());
      expect(await bottom(page.getByText('Account acme-bot'))).toBeLessThan(buttons);
      for (const at of values.keys()) {
        expect(await bottom(field(page, `Field ${at}`)), `field ${at}`).toBeLessThan(buttons);
      }
    });
  });

  test('says how many disclosed fields lie below the bar, until they were scrolled to', async () => {
    const disclosed = Array.from({ length: 30 }, (_each, at) => ({
      label: `Field ${at}`,
      value: 'value',
      truncated: false,
    }));
    const page = await openCard(anIssue({ disclosed }), { viewport: smallPhone });
    const hint = page.getByText(/\d+ fields? below$/);
    await hint.waitFor();
    expect(Number(/\d+/.exec((await hint.textContent()) ?? '')?.[0])).toBeGreaterThan(20);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(smallPhone.width);
    expect(await accessibilityProblems(page)).toEqual([]);

    await page.getByText('Where and by which permission').scrollIntoViewIfNeeded();
    await hint.waitFor({ state: 'detached' });
  });

  describe('one that is too large to be shown whole', () => {
    const large = (differences: Partial<ApprovalResponse> = {}) =>
      withRequest(
        {
          too_large: true,
          body: { title: 'Whole title', text: 'AAAA…', labels: ['bug'] },
          shortened: [
            { at: '/body/text', bytes: 812_000, sha256: '9f86d081'.repeat(8) },
            { at: '/body/labels', bytes: 90_000, sha256: 'a'.repeat(64), entries: 4000, shown: 1 },
          ],
        },
        differences,
      );

    test('shows its outline: every name, and what is missing of which value', async () => {
      const page = await openCard(large());

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
      expect(await accessibilityProblems(page)).toEqual([]);
    });

    test('is allowed by a second gesture that says so, and is not remembered', async () => {
      const approval = large();
      const page = await openCard(approval);
      expect(await button(page, /remember/).count()).toBe(0);
      await page.keyboard.press('r');
      expect(await page.getByRole('radio').count()).toBe(0);

      await button(page, /Allow once/).click();
      await page.getByText('You cannot see all of what it sends.').waitFor();
      await button(page, /Yes, allow it/).click();

      await page.getByText('Allowed by you').first().waitFor();
      expect(server.resolutions).toEqual([
        { id: approval.id, resolution: 'allow', acknowledge: 'too_large' },
      ]);
    });

    test('is denied by one', async () => {
      const approval = large();
      const page = await openCard(approval);
      await button(page, /^Deny/).click();
      await page.getByRole('button', { name: 'Deny', exact: true }).click();

      await page.getByText('Denied by you').first().waitFor();
      expect(server.resolutions).toEqual([{ id: approval.id, resolution: 'deny' }]);
    });
  });

  describe('one that is not what was suspended', () => {
    const changed = anIssue({ verified: false, unverified: 'changed' });

    test('says so above everything that it shows, and cannot be allowed by button or key', async () => {
      const page = await openCard(changed);
      const warning = page.getByText(/^Not verified/);
      await warning.waitFor();
      expect(await bottom(warning)).toBeLessThan(await top(page.getByText('What it will do')));
      expect(await button(page, /Allow/).count()).toBe(0);

      for (const key of ['a', 'y', 'r']) await page.keyboard.press(key);
      expect(await page.getByRole('radio').count()).toBe(0);
      expect(server.resolutions).toEqual([]);
      expect(await accessibilityProblems(page)).toEqual([]);
    });

    test('can be denied', async () => {
      const page = await openCard(changed, { viewport: smallPhone });
      await button(page, /^Deny/).click();
      await page.getByRole('button', { name: 'Deny', exact: true }).click();

      await page.getByText('Denied by you').first().waitFor();
    });

    test('is not allowed together with another', async () => {
      const approval = anIssue();
      server.approvals = [approval, { ...changed, id: '0199c0de-0000-7000-8000-0000000009ff' }];
      const page = await open(`/approvals/${approval.id}`);
      await button(page, /remember/).click();
      await page.getByRole('radio').nth(1).check();

      expect(await page.getByRole('checkbox', { name: /Also allow/ }).count()).toBe(0);
    });
  });

  describe('one that an earlier version suspended', () => {
    const earlier = withRequest(
      { headers: {}, content_type: null, credentials: [] },
      { verified: false, unverified: 'earlier_version' },
    );

    test('says so without alarm, and claims nothing that was not recorded then', async () => {
      const page = await openCard(earlier);
      await page.getByText('An earlier version of the gateway raised this').waitFor();

      const text = (await page.locator('article').textContent()) ?? '';
      expect(text).not.toContain('Not verified');
      expect(text).not.toContain('No account and no secret');
      expect(await field(page, 'Credentials').textContent()).toBe('not recorded');
      expect(await field(page, 'Headers').textContent()).toBe('not recorded');
      expect(await button(page, /Allow/).count()).toBe(0);
      expect(await button(page, /^Deny/).count()).toBe(1);
      expect(await accessibilityProblems(page)).toEqual([]);
    });
  });

  describe('the second gesture', () => {
    const deletion = (differences: Partial<ApprovalResponse> = {}) =>
      anIssue({
        risk: 'high',
        action_description: 'Delete label p1 of acme/site',
        disclosed: [
          { label: 'Repository', value: 'acme/site', truncated: false },
          { label: 'Label', value: 'p1', truncated: false },
        ],
        ...differences,
      });

    test('names what it is done to, with the way back where Allow was', async () => {
      const approval = deletion();
      const page = await openCard(approval, { viewport: phone });
      const allow = await button(page, /Allow once/).boundingBox();

      await button(page, /Allow once/).click();
      const question = page.getByRole('group', { name: 'Delete label p1 of acme/site?' });
      await question.waitFor();
      expect(await question.locator('strong').allTextContents()).toEqual(['p1', 'acme/site']);
      expect(await button(page, /Deny|Allow/).count()).toBe(0);
      expect(await page.getByRole('dialog').count()).toBe(0);

      const [x, y] = centre(allow);
      await page.mouse.click(x, y);
      await button(page, /Allow once/).waitFor();
      expect(server.resolutions).toEqual([]);

      await button(page, /Allow once/).click();
      await button(page, /Yes, delete/).click();
      await page.getByText('Allowed by you').first().waitFor();
      expect(server.resolutions).toEqual([{ id: approval.id, resolution: 'allow' }]);
    });

    test('takes no answer for a moment: what comes too fast was not meant', async () => {
      const approval = deletion();
      const page = await openCard(approval);
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + 60_000);

      await page.keyboard.press('a');
      await page.getByRole('group', { name: /Delete label/ }).waitFor();
      expect(await button(page, /Yes, delete/).isDisabled()).toBe(true);
      await page.clock.runFor(650);
      await page.keyboard.press('y');
      await page.keyboard.press('a');
      await page.clock.runFor(40);
      expect(await button(page, /Yes, delete/).isDisabled()).toBe(true);
      expect(server.resolutions).toEqual([]);

      await page.clock.runFor(20);
      expect(await button(page, /Yes, delete/).isEnabled()).toBe(true);
      await page.clock.resume();
      await page.keyboard.press('y');
      await page.getByText('Allowed by you').first().waitFor();
      expect(server.resolutions).toHaveLength(1);
    });

    test('is answered by keys: a asks, Escape goes back, y confirms; Enter goes back', async () => {
      const page = await openCard(deletion());
      const question = page.getByRole('group', { name: /Delete label/ });

      for (const key of ['Escape', 'Enter']) {
        await page.keyboard.press('a');
        await question.waitFor();
        await expect.poll(() => button(page, /Yes, delete/).isEnabled()).toBe(true);
        await page.keyboard.press(key);
        await button(page, /Allow once/).waitFor();
        expect(await question.count()).toBe(0);
      }
      await page.keyboard.press('y');
      expect(server.resolutions).toEqual([]);

      await page.keyboard.press('a');
      await expect.poll(() => button(page, /Yes, delete/).isEnabled()).toBe(true);
      await page.keyboard.press('y');
      await page.getByText('Allowed by you').first().waitFor();
    });

    test('comes after what is remembered was chosen, and keeps the choice on the way back', async () => {
      const approval = deletion();
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
      await button(page, /Yes, delete and remember/).click();

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

    test('comes before a person runs an allowed call of high risk, and not before stopping it', async () => {
      const approval = deletion({ ...allowed({ status: 'pending' }), auto_call_on_approve: false });
      const page = await openCard(approval, { viewport: phone });
      const run = await button(page, /Run it now/).boundingBox();

      await button(page, /Run it now/).click();
      await page.getByRole('group', { name: 'Delete label p1 of acme/site?' }).waitFor();
      const back = await button(page, /Go back/).boundingBox();
      expect(Math.abs((back?.x ?? 0) - (run?.x ?? 0))).toBeLessThan(4);
      await page.keyboard.press('Escape');
      await button(page, /Stop it/).waitFor();
      expect(server.calls).toEqual([]);

      await button(page, /Run it now/).click();
      await button(page, /Yes, delete/).click();
      await expect.poll(() => server.calls).toEqual([approval.id]);
    });

    test.each([
      ['reads', aRead({ resolver_id: ann.id })],
      ['writes', anIssue()],
    ])('is not asked for of what %s', async (_, approval) => {
      const page = await openCard(approval);
      await page.keyboard.press('a');

      await page.getByText('Allowed by you').first().waitFor();
      expect(server.resolutions).toEqual([{ id: approval.id, resolution: 'allow' }]);
    });

    test('is not asked for to deny what deletes', async () => {
      const page = await openCard(deletion());
      await page.keyboard.press('d');
      await page.getByRole('textbox').waitFor();
      await page.keyboard.press('Control+Enter');

      await page.getByText('Denied by you').first().waitFor();
    });

    test('gives way to the decision of somebody else', async () => {
      const approval = deletion();
      const page = await openCard(approval);
      await button(page, /Allow once/).click();
      await page.getByRole('group', { name: /Delete label/ }).waitFor();

      server.change(approval.id, {
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

    test('is in the list of keys', async () => {
      const page = await openCard(anIssue());
      await page.keyboard.press('?');

      const keys = await page.getByRole('dialog').locator('dl').textContent();
      expect(keys).toContain('yYes, when it is asked for again');
    });

    test.each([
      ['a desktop', desktop, 'light'],
      ['a desktop', desktop, 'dark'],
      ['a phone', phone, 'light'],
      ['a phone', phone, 'dark'],
    ] as const)('is accessible on %s, %j, in the %s scheme', async (_, viewport, colorScheme) => {
      for (const approval of [deletion(), aDeletion()]) {
        const page = await openCard(approval, { viewport, colorScheme });
        await button(page, /Allow once/).click();
        await expect.poll(() => button(page, /Yes, delete/).isEnabled()).toBe(true);

        expect(await accessibilityProblems(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
        for (const name of [/Yes, delete/, /Go back/]) {
          const box = await button(page, name).boundingBox();
          expect(box?.height).toBeGreaterThanOrEqual(44);
          expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(viewport.height);
        }
      }
    });
  });

  describe('a decided one', () => {
    test('speaks of what is over in the past tense', async () => {
      const page = await openCard(
        anIssue(allowed({ status: 'executed', http_status_code: 201, finished_at: now() })),
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

    test('opened by its link stands in the list of the decided; one decided here stays where it is', async () => {
      const past = anIssue(allowed({ status: 'executed', http_status_code: 201 }));
      const page = await openCard(past);
      await page.waitForURL(`**/${past.id}?show=decided`);

      const open = await openCard(anIssue());
      await button(open, /Allow once/).click();
      await open.getByText('Allowed by you').first().waitFor();
      expect(new URL(open.url()).search).toBe('');
    });

    test('that was denied says what it would have done', async () => {
      const page = await openCard(
        anIssue({
          status: 'denied',
          resolution: 'deny',
          reason: 'Not on a Friday',
          resolved_at: now(),
          resolved_by: { id: 'ben', kind: 'user', name: 'Ben', path: ['Ben'] },
        }),
      );

      const text = (await page.locator('article').textContent()) ?? '';
      for (const part of ['asked to', 'What it would have done', 'Denied by Ben', 'just now']) {
        expect(text).toContain(part);
      }
    });

    test('reads out what came of it, and never an unknown outcome as a failure', async () => {
      const approval = anIssue(allowed({ status: 'executing' }));
      const page = await openCard(approval);
      await page.getByText('Running the call…').waitFor();

      const error = { error: 'outcome_unknown', message: 'x' };
      server.change(
        approval.id,
        allowed({ status: 'failed', error, finished_at: now() }),
        'execution.finished',
      );

      await page.getByText('It is not known whether the call happened.').waitFor();
      await page.getByText('What it may have done').waitFor();
    });
  });
});

function withRequest(
  request: Partial<ApprovalResponse['request']>,
  differences: Partial<ApprovalResponse> = {},
): ApprovalResponse {
  const approval = anIssue(differences);
  return { ...approval, request: { ...approval.request, ...request } };
}

function allowed(
  execution: Partial<NonNullable<ApprovalResponse['execution']>>,
): Partial<ApprovalResponse> {
  return {
    status: 'allowed',
    resolution: 'allow',
    resolved_at: now(),
    resolved_by: { id: ann.id, kind: 'user', name: ann.name, path: ann.path },
    execution: {
      id: 'e',
      status: 'pending',
      runtime: 'http',
      triggered_by: null,
      created_at: now(),
      started_at: null,
      finished_at: null,
      expires_at: new Date(Date.now() + 15 * 60_000).toISOString(),
      ...execution,
    },
  };
}

function now(): string {
  return new Date().toISOString();
}

type Box = Awaited<ReturnType<Locator['boundingBox']>>;

function centre(box: Box): [x: number, y: number] {
  if (box === null) throw new Error('not shown');
  return [box.x + box.width / 2, box.y + box.height / 2];
}

async function top(locator: Locator): Promise<number> {
  return (await locator.boundingBox())?.y ?? -1;
}

async function bottom(locator: Locator): Promise<number> {
  const box = await locator.boundingBox();
  return box === null ? Infinity : box.y + box.height;
}
