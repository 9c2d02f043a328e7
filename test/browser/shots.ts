import type { Page } from 'playwright-core';

import type { Person, Scene } from './scene.ts';

/** The smallest phone for which the dashboard is made, and an ordinary laptop. */
export const screenSizes = {
  phone: { width: 360, height: 640 },
  desktop: { width: 1280, height: 800 },
} as const;

export interface Shot {
  readonly name: string;
  /** The person who is signed in. Null if nobody is. */
  readonly as: Person | null;
  readonly path: string;
  /**
   * The text of the button, link or heading for which a person opens the page. The load time is
   * measured until this element can be used. Absent if the shot is only another state of a page.
   */
  readonly mainAct?: string;
  /** Prepares the browser before the page is opened, for example to let requests fail. */
  readonly before?: (page: Page) => Promise<unknown>;
  /** Brings the opened page into the state that the shot shows. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** All shots: every page of the dashboard, and the states of each page that look different. */
export function shotsOf(scene: Scene): Shot[] {
  return [
    ...signInShots(scene),
    ...homeShots(scene),
    ...approvalShots(scene),
    ...ownerShots(scene),
    ...orgShots(scene),
    ...tryShots(scene),
    ...questionShots(scene),
    ...troubleShots(scene),
  ];
}

const press = (name: string | RegExp) => (page: Page) =>
  page.getByRole('button', { name }).first().click();
const choose = (label: string) => (page: Page) => page.getByLabel(label).first().check();
const open = (text: string) => (page: Page) =>
  page.locator('summary', { hasText: text }).first().click();

export function cookieOf({ cookie }: Person, url: string) {
  const [name = '', value = ''] = cookie.split('=');
  return { name, value, url };
}

function signInShots({ withoutPassword, spentLink, newcomer, paths, mia }: Scene): Shot[] {
  const { pathname, search } = new URL(spentLink);
  return [
    { name: 'sign-in', as: null, path: '/sign-in' },
    { name: 'sign-in-password', as: withoutPassword, path: '/sign-in/password' },
    { name: 'sign-in-spent', as: null, path: pathname + search },
    { name: 'sign-in-forgotten', as: null, path: '/sign-in', prepare: open('No password') },
    { name: 'connect', as: mia, path: paths.connect },
    { name: 'consent', as: mia, path: paths.consent },
    { name: 'provide', as: mia, path: paths.provide, mainAct: 'Store the secret' },
    { name: 'request', as: mia, path: paths.request, mainAct: 'Continue to' },
    { name: 'request-token', as: mia, path: paths.request, prepare: choose('Access token') },
    { name: 'request-decline', as: mia, path: paths.request, prepare: press(/^Decline/) },
    { name: 'service-not-found', as: newcomer, path: '/services/nowhere' },
  ];
}

function homeShots({ mia, admin, auditor, newcomer }: Scene): Shot[] {
  return [
    { name: 'home-first-steps', as: newcomer, path: '/', mainAct: 'Add the agent' },
    { name: 'home-member', as: mia, path: '/', mainAct: 'High risk' },
    { name: 'home-admin', as: admin, path: '/', mainAct: 'more calls' },
    { name: 'home-auditor', as: auditor, path: '/', mainAct: 'Home' },
  ];
}

function approvalShots({ mia, newcomer, approvals }: Scene): Shot[] {
  const at = (id: string) => `/approvals/${id}`;
  const decided = (id: string) => `${at(id)}?show=decided`;
  return [
    { name: 'approvals-empty', as: newcomer, path: '/approvals', mainAct: 'Approvals' },
    { name: 'approvals', as: mia, path: '/approvals', mainAct: 'High risk' },
    { name: 'approvals-filters', as: mia, path: '/approvals', prepare: open('Filter and sort') },
    { name: 'approvals-selected', as: mia, path: '/approvals', prepare: selectIssues },
    {
      name: 'batch',
      as: mia,
      path: '/approvals',
      async prepare(page) {
        await selectIssues(page);
        await press(/^Review 3/)(page);
      },
    },
    { name: 'approvals-filtered', as: mia, path: '/approvals?q=safari' },
    { name: 'approvals-decided', as: mia, path: '/approvals?show=decided', mainAct: 'Decided' },
    { name: 'card-medium', as: mia, path: at(approvals.medium), mainAct: 'Allow once' },
    { name: 'card-high', as: mia, path: at(approvals.high), mainAct: 'Allow once' },
    {
      name: 'card-high-confirm',
      as: mia,
      path: at(approvals.high),
      async prepare(page) {
        await press(/^Allow once/)(page);
        // The button "Yes" ignores clicks for a moment, and is enabled afterwards.
        await page.locator('button:enabled', { hasText: /^Yes/ }).waitFor();
      },
    },
    { name: 'card-remember', as: mia, path: at(approvals.medium), prepare: press(/remember/) },
    { name: 'card-deny', as: mia, path: at(approvals.medium), prepare: press(/^Deny/) },
    {
      name: 'card-decided',
      as: mia,
      path: decided(approvals.remembered),
      mainAct: 'Stop allowing',
    },
    { name: 'card-denied', as: mia, path: decided(approvals.denied) },
    { name: 'card-failed', as: mia, path: decided(approvals.failed) },
  ];
}

function ownerShots({ mia, admin, newcomer, auditor, agentId }: Scene): Shot[] {
  return [
    { name: 'services-empty', as: newcomer, path: '/services', mainAct: 'Connect' },
    { name: 'services', as: mia, path: '/services', mainAct: 'Connect' },
    { name: 'services-new', as: mia, path: '/services/new', mainAct: 'GitHub' },
    { name: 'service-new', as: mia, path: '/services/new?template=discord', mainAct: 'Connect' },
    { name: 'service', as: mia, path: '/services/sample', mainAct: 'pin_note' },
    { name: 'sample', as: mia, path: '/sample', mainAct: 'Notice board' },
    {
      name: 'service-changed-tools',
      as: admin,
      path: '/services/org/issues',
      mainAct: 'Ask the server now',
    },
    {
      name: 'service-auditor',
      as: auditor,
      path: '/services/org/stripe',
      mainAct: 'List customers',
    },
    { name: 'secrets', as: mia, path: '/services/credentials', mainAct: 'Enter a new value' },
    { name: 'accounts', as: mia, path: '/services/credentials?show=accounts', mainAct: 'Accounts' },
    { name: 'agents-empty', as: newcomer, path: '/agents', mainAct: 'Add an agent' },
    { name: 'agents', as: mia, path: '/agents', mainAct: 'Add an agent' },
    { name: 'agents-admin', as: admin, path: '/agents', mainAct: 'Add an agent' },
    { name: 'agent', as: mia, path: `/agents/${agentId}`, mainAct: 'Pause' },
    { name: 'activity', as: mia, path: '/activity', mainAct: 'Activity' },
    { name: 'activity-open', as: admin, path: '/activity?outcome=called', prepare: openLatest },
    { name: 'activity-none', as: mia, path: '/activity?q=nothing+like+it' },
    { name: 'profile', as: mia, path: '/profile', mainAct: 'Profile' },
  ];
}

function orgShots({ admin, auditor }: Scene): Shot[] {
  return [
    { name: 'members', as: admin, path: '/members', mainAct: 'Invite a person' },
    { name: 'members-invite', as: admin, path: '/members?invite=1' },
    { name: 'members-manage', as: admin, path: '/members', prepare: press(/^Manage mia/) },
    { name: 'members-auditor', as: auditor, path: '/members', mainAct: 'Members' },
    { name: 'webhooks', as: admin, path: '/webhooks', mainAct: 'New webhook' },
    { name: 'webhooks-deliveries', as: admin, path: '/webhooks', prepare: press(/^Deliveries/) },
    { name: 'webhooks-new', as: admin, path: '/webhooks?add=1' },
    { name: 'settings', as: admin, path: '/settings', mainAct: 'How long things last' },
  ];
}

/** Only a phone has this button. A wide window shows everything without it. */
async function pressMore(page: Page): Promise<void> {
  const more = page.getByRole('button', { name: 'More' });
  if (await more.isVisible()) await more.click();
}

function openLatest(page: Page) {
  return page.getByRole('main').getByRole('listitem').getByRole('button').first().click();
}

async function selectIssues(page: Page): Promise<void> {
  await press('Select several')(page);
  const issues = page.locator('label', { hasText: 'Create issue' });
  for (const at of [0, 1, 2]) await issues.nth(at).getByRole('checkbox').check();
}

/** Opens an action of the notice board, fills in its form and submits it. */
function tryAction(
  action: string,
  {
    values = {},
    as = '',
    until,
  }: { values?: Readonly<Record<string, string>>; as?: string; until: RegExp },
) {
  return async (page: Page) => {
    await open(action)(page);
    const form = page.getByRole('form', { name: `Try ${action}` });
    for (const [label, value] of Object.entries(values)) await form.getByLabel(label).fill(value);
    if (as !== '') await form.getByLabel('As').selectOption({ label: as });
    await form.getByRole('button', { name: as === '' ? 'Run it' : 'See what would' }).click();
    await form.getByText(until).first().scrollIntoViewIfNeeded();
  };
}

function tryShots({ mia }: Scene): Shot[] {
  const at = { as: mia, path: '/services/sample' };
  const note = { board: 'releases', text: 'Release 2.5 is out' };
  return [
    { ...at, name: 'try', prepare: open('pin_note') },
    { ...at, name: 'try-result', prepare: tryAction('list_notes', { until: /answered/ }) },
    { ...at, name: 'try-missing', prepare: tryAction('edit_note', { until: /must be given/ }) },
    {
      ...at,
      name: 'try-confirm',
      prepare: tryAction('remove_note', { values: { id: '2' }, until: /Yes, run it/ }),
    },
    {
      ...at,
      name: 'try-dry-run-allowed',
      prepare: tryAction('pin_note', { values: note, as: 'mia › deploy-bot', until: /It would/ }),
    },
    {
      ...at,
      name: 'try-dry-run-asks',
      prepare: tryAction('remove_note', {
        values: { id: '2' },
        as: 'mia › deploy-bot',
        until: /It would/,
      }),
    },
  ];
}

/** Questions that are asked before something ends or changes permanently. */
function questionShots({ mia, admin, agentId, approvals }: Scene): Shot[] {
  const agent = `/agents/${agentId}`;
  return [
    {
      name: 'stop-allowing',
      as: mia,
      path: `/approvals/${approvals.remembered}?show=decided`,
      prepare: press('Stop allowing'),
    },
    {
      name: 'service-version',
      as: mia,
      path: '/services/minutes',
      prepare: press('See what it changes'),
    },
    {
      name: 'service-tool-difference',
      as: admin,
      path: '/services/org/issues',
      prepare: press(/Look at the difference/),
    },
    { name: 'service-end', as: mia, path: '/services/slack', prepare: press(/^Disconnect/) },
    {
      name: 'secret-new-value',
      as: mia,
      path: '/services/credentials',
      prepare: press(/new value/),
    },
    { name: 'secret-delete', as: mia, path: '/services/credentials', prepare: press(/^Delete/) },
    { name: 'agent-stop-allowing', as: mia, path: agent, prepare: press('Stop allowing') },
    { name: 'agent-revoke', as: mia, path: agent, prepare: press(/^Revoke the agent/) },
    { name: 'agent-add', as: mia, path: '/agents?add=1' },
    { name: 'more', as: mia, path: '/activity', prepare: pressMore },
    { name: 'account-menu', as: mia, path: '/profile', prepare: press(/^Account of/) },
  ];
}

/** What pages show if the gateway does not answer, or answers with an error. */
function troubleShots({ mia, approvals }: Scene): Shot[] {
  const fail = (path: string) => (page: Page) =>
    page.route(path, (route) =>
      route.fulfill({
        status: 503,
        headers: { 'x-request-id': '019a0c1e-5d0b-7c3f-9d0e-0c6f7d1f2a3b' },
        json: {
          error: 'unavailable',
          message: 'The database is not reachable at the moment; try again in a few seconds.',
          request_id: '019a0c1e-5d0b-7c3f-9d0e-0c6f7d1f2a3b',
        },
      }),
    );
  return [
    { name: 'error-services', as: mia, path: '/services', before: fail('**/v1/services?*') },
    { name: 'error-everything', as: mia, path: '/', before: fail('**/v1/identities/me') },
    { name: 'services-none', as: mia, path: '/services', before: answerWithNothing },
    {
      name: 'gateway-away',
      as: mia,
      path: '/approvals',
      before: (page) => page.route('**/v1/events*', (route) => route.abort()),
      async prepare(page) {
        await page.route('**/v1/**', (route) => route.abort());
        await page.getByText('No connection to the gateway').waitFor();
      },
    },
    {
      name: 'gateway-gone',
      as: mia,
      path: `/approvals/${approvals.medium}`,
      before: (page) => page.route('**/v1/events*', (route) => route.abort()),
      async prepare(page) {
        await page.route('**/v1/**', (route) => route.abort());
        await page.getByText('the gateway does not answer').waitFor();
      },
    },
    { name: 'card-not-found', as: mia, path: '/approvals/019a0c1e-5d0b-7c3f-9d0e-0c6f7d1f2a3b' },
  ];
}

function answerWithNothing(page: Page) {
  return page.route('**/v1/{services,requests}?*', (route) =>
    route.fulfill({ json: { items: [], next_cursor: null } }),
  );
}
