import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { accessibilityProblems } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import { needs } from '../support/needs.ts';
import { authorization } from '../support/oauth-world.ts';
import { created, startWorld } from './support/world.ts';

const chromium = needs('chromium');

test.skipIf(!chromium.available)(
  `a person lets a client in with a browser, which follows its answer home${chromium.note}`,
  async () => {
    await using world = await startWorld();
    await using browser = await openChromium();
    const client = createServer((_request, reply) => reply.end('<h1>Connected</h1>')).listen(0);
    await once(client, 'listening');
    const callback = `http://127.0.0.1:${(client.address() as AddressInfo).port}/callback`;
    const { client_id: clientId } = created(
      await world.admin.post('/oauth/register', {
        redirect_uris: ['http://127.0.0.1/callback'],
        client_name: 'Editor',
      }),
    );
    created(await world.admin.post('/v1/identities/agents', { name: 'older' }));
    const ask = { client_id: clientId, redirect_uri: callback };
    const { url } = authorization(world.url, ask);

    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, context, complaints } = await browser.newPage({ colorScheme });
      const [name = '', value = ''] = world.admin.cookie.split('=');
      await context.addCookies([{ name, value, url: world.url }]);
      await page.goto(`${url}&prompt=consent`);
      expect(await accessibilityProblems(page)).toEqual([]);

      await page.getByRole('radio', { name: 'older' }).check();
      expect(await page.getByLabel('Name of its agent').isVisible()).toBe(false);
      await page.getByRole('radio', { name: 'A new agent' }).check();
      await page.getByLabel('Name of its agent').fill(`editor-${colorScheme}`);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(`${callback}?code=*`);
      // Its own page is elsewhere, and that is where the form was to end.
      expect(complaints.filter((each) => !each.startsWith('request to http://127.0.0.1'))).toEqual(
        [],
      );
      await context.close();
    }
    client.close();
    client.closeAllConnections();
  },
);
