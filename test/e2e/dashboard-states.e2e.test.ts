import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { accessibilityProblems } from '../browser/axe.ts';
import { desktop, phone, useDashboard } from '../browser/dashboard.testing.ts';
import type { FixtureServer } from '../browser/fixture-server.testing.ts';
import { aDeletion, aRead, agentId, anIssue, ann } from '../browser/fixtures.testing.ts';
import { payloads } from '../browser/payloads.testing.ts';
import { needs } from '../support/needs.ts';

const chromium = needs('chromium');

describe.skipIf(!chromium.available)(
  `the dashboard in states that are hard to reach${chromium.note}`,
  () => {
    const dashboard = useDashboard();
    const { open } = dashboard;
    let server: FixtureServer;
    beforeAll(() => {
      ({ server } = dashboard);
    });

    describe('agent text', () => {
      test(
        'is read as text in every field, whatever is written',
        { timeout: 180_000 },
        async () => {
          const approval = anIssue();
          server.approvals = [approval];
          const page = await open(`/approvals/${approval.id}`);
          const heading = page.getByRole('heading', { level: 1 });
          await page.getByRole('button', { name: 'Allow and remember' }).click();

          for (const [what, given, shown] of payloads) {
            server.change(approval.id, everywhere(given), 'approval.bubbled');
            await expect.poll(() => heading.textContent(), { message: what }).toBe(shown);

            const text = (await page.locator('article').textContent()) ?? '';
            // Name and path, sentence, destination, label and value, path, query, body, service and so on.
            expect(text.split(shown).length - 1, given).toBeGreaterThanOrEqual(12);
          }
          const made = page.locator(
            'article :is(img, script, iframe, style, link, base, meta, math)',
          );
          expect(await made.count()).toBe(0);
          expect(page.url()).toBe(`${server.url}/approvals/${approval.id}`);
        },
      );

      test('never pushes the page wider than a phone', async () => {
        const long = 'x'.repeat(5000);
        const approval = anIssue({
          action_description: long,
          permission_keys: [long],
          suggested_tiers: [{ keys: [long], description: long }],
          requester: { id: agentId, kind: 'agent', name: long, path: [long, long] },
          disclosed: [{ label: long, value: long, truncated: false }],
        });
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`, { viewport: phone });
        await page
          .getByRole('button', { name: /Show all 5,000 characters/ })
          .first()
          .click();
        await page.getByRole('button', { name: 'Allow and remember' }).click();

        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
      });

      test('is cut with a count, and shown whole on demand', async () => {
        const approval = anIssue({
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

    describe('a decision', () => {
      test('of somebody else that arrives while the card is open is shown, with what was begun undone', async () => {
        const approval = anIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: /^Deny/ }).click();
        await page.getByRole('textbox').fill('Because');

        server.change(approval.id, deniedBy('Ben', 'Not on a Friday'));

        await page.getByText('Denied by Ben').first().waitFor();
        await page.getByText('“Not on a Friday”').waitFor();
        await page.getByText('nothing of yours was applied').waitFor();
        expect(await page.getByRole('textbox').count()).toBe(0);
        expect(server.resolutions).toEqual([]);
      });

      test('that comes second is not applied and shows the first', async () => {
        const approval = anIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);

        // Decided, but not announced yet.
        server.beforeResolve = () => {
          server.approvals = [{ ...approval, ...deniedBy('Ben', null) }];
        };
        await page.getByRole('button', { name: /Allow once/ }).click();

        await page.getByText('Denied by Ben').first().waitFor();
        await page.getByText('nothing of yours was applied').waitFor();
        expect(await page.getByRole('alert').count()).toBe(0);
      });

      test('that fails says why, with the request id, and can be made again', async () => {
        const approval = anIssue();
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

      test('to remember sends the narrowest tier for 24 hours unless told otherwise, and lists what else it allows', async () => {
        const approval = anIssue();
        const same = anIssue({
          action_description: 'Create issue "Second" in acme/api',
          permission_keys: ['github:create_issue:acme/api'],
        });
        server.approvals = [approval, same];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();
        await page.keyboard.press('r');
        expect(await page.getByRole('radio').first().isChecked()).toBe(true);
        expect(await page.getByRole('checkbox').count()).toBe(0);

        await page.getByRole('radio').nth(1).check();
        const also = page.getByRole('checkbox', { name: /Also allow this call/ });
        await also.waitFor();
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
        const approval = anIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);

        await page.getByText('as an auditor').waitFor();
        await page.keyboard.press('a');
        expect(await page.getByRole('button', { name: /Allow|Deny/ }).count()).toBe(0);
        expect(server.resolutions).toEqual([]);
      });

      test('can be handed up by an admin who is not above the requester', async () => {
        const approval = anIssue({
          requester: { id: 'b', kind: 'subagent', name: 'sub', path: ['Ben', 'bot', 'sub'] },
          resolver_id: agentId,
          may_resolve: ['ben', agentId],
        });
        server.approvals = [approval, aRead()];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: 'Hand up to Ben' }).waitFor();

        await page.goto(`${server.url}/approvals/${server.approvals[1]?.id}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();
        expect(await page.getByRole('button', { name: /Hand up/ }).count()).toBe(0);
      });
    });

    describe('the keyboard', () => {
      test('goes down and up the queue, and decides what is open', async () => {
        const [first, second, third] = [
          anIssue(),
          anIssue({ created_at: soon(1) }),
          aDeletion({ created_at: soon(2) }),
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
        // What is typed is a reason, and no further key.
        await page.keyboard.type('a j r d ?');
        await page.keyboard.press('Control+Enter');
        await page.getByText('“a j r d ?”').waitFor();

        expect(server.resolutions).toEqual([
          { id: first.id, resolution: 'allow' },
          { id: second.id, resolution: 'deny', reason: 'a j r d ?' },
        ]);
      });

      test('does nothing as part of a shortcut or behind a dialog', async () => {
        const approval = anIssue();
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

    describe('what came of an allowed call', () => {
      const ended = (differences: object) => ({
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
          expires_at: soon(15),
          ...differences,
        },
      });

      test.each([
        [
          'an unknown outcome is never called a failure',
          { error: { error: 'outcome_unknown', message: 'x' } },
          'It is not known whether this happened',
        ],
        [
          'a typed failure',
          { error: { error: 'approval_stale', message: 'The service has changed; ask again.' } },
          'The service has changed; ask again.',
        ],
        [
          'a refusal of the service',
          {
            status: 'executed' as const,
            http_status_code: 422,
            result: { status_code: 422, headers: {}, duration_ms: 12, body: 'Validation failed' },
          },
          'answered 422',
        ],
        ['not run in time', { status: 'expired' as const }, 'was not run in time'],
        ['stopped', { status: 'cancelled' as const }, 'stopped before it ran'],
      ])('%s', async (_, differences, sentence) => {
        const approval = anIssue(ended(differences));
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}?show=decided`);

        await page.getByText(sentence).waitFor();
        expect(await accessibilityProblems(page)).toEqual([]);
      });

      test('one that waits for its agent can be run or stopped here', async () => {
        const approval = anIssue({
          ...ended({ status: 'pending', finished_at: null, triggered_by: null }),
          auto_call_on_approve: false,
        });
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);

        await page.getByText('Runs when deploy-bot asks for it again').waitFor();
        await page.getByRole('button', { name: 'Run it now' }).waitFor();
        await page.getByRole('button', { name: 'Stop it' }).waitFor();
      });
    });

    describe('the connection', () => {
      test('that breaks is shown, comes back by itself and brings what was missed', async () => {
        server.approvals = [anIssue()];
        const page = await open('/approvals');
        await page.getByText('Live', { exact: true }).waitFor();
        const missed = anIssue({ action_description: 'Raised meanwhile' });

        server.approvals = [missed, ...server.approvals];
        server.cutStreams();

        await page.getByText('Raised meanwhile').first().waitFor();
        await page.getByText('Live', { exact: true }).waitFor();
      });

      test('that ends the session leads to the sign-in page, wherever one is', async () => {
        const approval = anIssue();
        server.approvals = [approval];
        const page = await open(`/approvals/${approval.id}`);
        await page.getByRole('button', { name: /Allow once/ }).waitFor();

        server.me = null;
        server.cutStreams();
        await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
        expect(new URL(page.url()).pathname).toBe(`/approvals/${approval.id}`);

        server.me = ann;
        await page.getByRole('button', { name: 'I have signed in, continue' }).click();
        await page.getByRole('button', { name: /Allow once/ }).waitFor();
      });

      test('that gives an error shows it with its request id and a way on', async () => {
        server.approvals = [anIssue()];
        const failure = { path: '/v1/approvals', status: 500 };
        server.failures.push(failure, failure, failure);
        const page = await open('/approvals', { viewport: phone });
        await page.getByText('request-internal').waitFor();
        // It has asked once at first and once when the stream was open; now it waits for a person.
        await expect.poll(() => server.failures.length).toBe(1);
        server.failures.length = 0;

        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByText('Waiting for you').waitFor();
      });

      test('an approval that does not exist says so', async () => {
        const page = await open('/approvals/0199c0de-0000-7000-8000-00000000ffff');

        await page.getByRole('heading', { name: 'There is no such approval' }).waitFor();
      });
    });

    describe.each([
      ['on a desktop', desktop],
      ['on a phone', phone],
    ])('%s', (_, viewport) => {
      test.each(['light', 'dark'] as const)(
        'axe finds nothing in the %s scheme',
        { timeout: 180_000 },
        async (colorScheme) => {
          const [deletion, issue, read] = [aDeletion(), anIssue(), aRead()];
          server.approvals = [deletion, issue, read];
          const page = await open('/approvals', { viewport, colorScheme });
          await page.getByText('Waiting for you').waitFor();
          await expectSound(page, viewport.width);

          for (const { id } of [deletion, issue, read]) {
            await page.goto(`${server.url}/approvals/${id}`);
            await page.getByText('The exact request').waitFor();
            await expectSound(page, viewport.width);
          }
          for (const name of ['Allow and remember', 'Deny']) {
            await page.getByRole('button', { name }).click();
            await expectSound(page, viewport.width);
            await page.getByRole('button', { name: 'Back' }).click();
          }
          await page.getByRole('button', { name: /Account/ }).click();
          await page.getByRole('button', { name: 'Sign out' }).waitFor();
          await expectSound(page, viewport.width);
          await page.getByRole('button', { name: 'Sign out' }).click();
          await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
          await expectSound(page, viewport.width);
        },
      );

      test('the decision stays in reach however long the card is', async () => {
        const approval = anIssue({
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

    async function expectSound(page: Page, width: number) {
      expect(await accessibilityProblems(page)).toEqual([]);
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

/** An approval's fields with one text wherever an agent's words can stand. */
function everywhere(given: string): Partial<ApprovalResponse> {
  return {
    requester: { id: agentId, kind: 'agent', name: given, path: ['Ann', given] },
    placement: { id: agentId, kind: 'agent', name: given },
    service: given,
    template: given,
    action: given,
    action_description: given,
    permission_keys: [given],
    suggested_tiers: [{ keys: [given], description: given }],
    disclosed: [{ label: given, value: given, truncated: true }],
    request: {
      method: given,
      url: `https://api.example.com/${given}?q=${encodeURIComponent(given)}`,
      params: { [given]: given },
      headers: { [given]: given },
      content_type: given,
      body: given,
      credentials: [
        { kind: 'secret', name: given, account: given, in: 'header', key: given, prefix: given },
      ],
    },
  };
}

function soon(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString();
}
