import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';

import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import type { WatchedPage } from '../browser/chromium.ts';
import { needs } from '../support/needs.ts';
import { startTestProvider } from '../support/oauth-provider.ts';
import type { TestProvider } from '../support/oauth-provider.ts';
import type { Person } from '../support/people.ts';
import { successfulBodyOf, startWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';

const chromium = needs('chromium');
const phone = { width: 360, height: 740 };

/**
 * Tests an owner who upgrades a service to versions that need more than the service has. Each test
 * continues where the previous one stopped.
 */
describe.skipIf(!chromium.isAvailable)(
  `a version with other requirements in the dashboard${chromium.note}`,
  () => {
    let world: World;
    let provider: TestProvider;
    let watched: WatchedPage;
    let page: Page;
    let mia: Person;

    beforeAll(async () => {
      const stack = new AsyncDisposableStack();
      provider = stack.use(await startTestProvider());
      world = stack.use(await startWorld({ EGRESS_ALLOW: provider.host }));
      const { admin, upstream, url } = world;
      successfulBodyOf(
        await admin.put('/v1/oauth-apps/mock', {
          client_id: 'gateway',
          client_secret: 'CANARY-client-secret',
          definition: { title: 'Mock', issuer: provider.issuer, hosts: [upstream.host] },
        }),
      );
      mia = await world.person({ orgId: admin.orgId, name: 'mia', role: 'member' });
      const firstVersion = document(`{ url: '${upstream.url}/echo' }`, '[{ token: [] }]');
      await publish(firstVersion, 1);
      await mia.post('/v1/secrets', { name: 'notes_token', value: 'CANARY-token' });
      successfulBodyOf(
        await mia.post('/v1/services', {
          template: 'notes',
          credentials: { secrets: { token: 'notes_token' } },
        }),
      );
      const browser = stack.use(await openChromium());
      watched = await browser.newPage({ viewport: phone });
      ({ page } = watched);
      const [name = '', value = ''] = mia.cookie.split('=');
      await watched.context.addCookies([{ name, value, url }]);
      return async () => {
        await stack.disposeAsync();
        // The person goes to the provider, which is another origin, so the browser fixture
        // complains.
        const others = watched.complaints.filter((each) => !each.includes(provider.issuer));
        if (others.length > 0) throw new Error(others.join('\n'));
      };
    });

    const document = (server: string, security: string) => `openapi: 3.1.0
info: { title: Notes, key: notes, category: Testing }
servers: [${server}]
security: ${security}
paths:
  /notes:
    get: { operationId: list_notes, summary: List notes }
components:
  securitySchemes:
    token: { type: http, scheme: bearer, default_secret_name: notes_token }
    key: { type: apiKey, in: header, name: X-Notes-Key, default_secret_name: notes_key }
    oauth:
      type: oauth2
      provider: mock
      flows:
        authorizationCode:
          authorizationUrl: ${provider.issuer}/authorize
          tokenUrl: ${provider.issuer}/token
          scopes: { read: Read notes }
`;
    const inAreas = () =>
      `{ url: '${world.upstream.url}/{area}', variables: { area: { default: '', description: The area of your notes. } } }`;
    const publish = async (openapi: string, version: number) => {
      const saved =
        version === 1
          ? await world.admin.post('/v1/templates', { openapi, tier: 'org' })
          : await world.admin.put('/v1/templates/notes?tier=org', {
              openapi,
              version: version - 1,
            });
      successfulBodyOf(saved);
      successfulBodyOf(await world.admin.post('/v1/templates/notes/publish?tier=org', { version }));
    };
    const seeChanges = async (version: number) => {
      await page.goto(`${world.url}/services/notes`);
      await page.getByRole('button', { name: 'See what it changes' }).click();
      return page.getByRole('form', { name: `Take version ${version}` });
    };
    const untilTaken = () =>
      page.getByText('There is a newer version').waitFor({ state: 'detached' });
    const service = async () => successfulBodyOf(await mia.get('/v1/services/notes'));
    const callIt = async () => {
      successfulBodyOf(
        await mia.post('/v1/actions/call', { service: 'notes', action: 'list_notes' }),
      );
      return world.upstream.hits.at(-1);
    };
    const expectAccessible = async () => {
      expect(await findProblemsInBothSchemes(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    };

    test('asks for a new variable and a further secret, but not for what the service has', async () => {
      await publish(document(inAreas(), '[{ token: [], key: [] }]'), 2);
      const form = await seeChanges(2);
      await form.getByText('The area of your notes.').waitFor();
      expect(await form.getByRole('textbox').count()).toBe(2);
      await expectAccessible();

      await form.getByLabel('API key (X-Notes-Key)', { exact: true }).fill('CANARY-key');
      await form.getByLabel('Area').fill('echo/other');
      await form.getByRole('button', { name: 'Take version 2' }).click();
      await form.getByRole('alert').getByText('variables.area').waitFor();
      await form.getByText(/Request id/).waitFor();
      expect((await service()).template_version).toBe(1);

      await form.getByLabel('Area').fill('echo');
      await form.getByRole('button', { name: 'Take version 2' }).click();
      await untilTaken();
      expect(await service()).toMatchObject({
        template_version: 2,
        variables: { area: 'echo' },
        credentials: { secrets: { token: 'notes_token', key: 'notes_key' } },
      });
      expect(await callIt()).toMatchObject({
        url: '/echo/notes',
        headers: { authorization: 'Bearer CANARY-token', 'x-notes-key': 'CANARY-key' },
      });
    });

    test('asks for nothing when the service has everything', async () => {
      await publish(document(inAreas(), '[{ oauth: [] }, { key: [] }, { token: [], key: [] }]'), 3);
      const form = await seeChanges(3);
      await form.getByRole('button', { name: 'Take version 3' }).waitFor();
      expect(await form.getByRole('textbox').count()).toBe(0);
      expect(await form.getByRole('radio').count()).toBe(0);
      await form.getByRole('button', { name: 'Take version 3' }).click();
      await untilTaken();
      expect((await service()).credentials.secrets).toEqual({
        token: 'notes_token',
        key: 'notes_key',
      });
    });

    test('leads to the provider for an account, and is in use when the person comes back', async () => {
      await publish(document(inAreas(), '[{ oauth: [] }]'), 4);
      const form = await seeChanges(4);
      await form.getByRole('button', { name: 'Continue to Mock' }).waitFor();
      expect(await form.getByRole('textbox').count()).toBe(0);
      await expectAccessible();
      await form.getByRole('button', { name: 'Continue to Mock' }).click();
      await page.getByRole('button', { name: 'Continue to Mock' }).click();
      await page.waitForURL('**/services/notes');
      await page.getByText('Ready', { exact: true }).waitFor();
      await untilTaken();
      expect(await service()).toMatchObject({
        template_version: 4,
        variables: { area: 'echo' },
        credentials: { secrets: {}, connection: 'notes' },
      });
      expect((await callIt())?.headers['x-notes-key']).toBeUndefined();
    });
  },
);
