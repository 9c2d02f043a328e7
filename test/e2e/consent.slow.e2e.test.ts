import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { expect, test } from 'vitest';

import { findAccessibilityProblems } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import { needs } from '../support/needs.ts';
import { choosePassword } from '../support/people.ts';
import { createAuthorizationRequest } from '../support/oauth-world.ts';
import { successfulBodyOf, startWorld } from '../support/world.ts';

const chromium = needs('chromium');

test.skipIf(!chromium.isAvailable)(
  `a person allows an OAuth client in a browser, which is redirected to the client${chromium.note}`,
  async () => {
    await using world = await startWorld();
    await using browser = await openChromium();
    const clientServer = createServer((_request, reply) => reply.end('<h1>Connected</h1>')).listen(
      0,
    );
    await once(clientServer, 'listening');
    const callback = `http://127.0.0.1:${(clientServer.address() as AddressInfo).port}/callback`;
    const { client_id: clientId } = successfulBodyOf(
      await world.admin.post('/oauth/register', {
        redirect_uris: ['http://127.0.0.1/callback'],
        client_name: 'Editor',
      }),
    );
    successfulBodyOf(await world.admin.post('/v1/identities/agents', { name: 'older' }));
    const authorizationParameters = { client_id: clientId, redirect_uri: callback };
    const { url } = createAuthorizationRequest(world.url, authorizationParameters);

    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, context, complaints } = await browser.newPage({ colorScheme });
      const [name = '', value = ''] = world.admin.cookie.split('=');
      await context.addCookies([{ name, value, url: world.url }]);
      await page.goto(`${url}&prompt=consent`);
      expect(await findAccessibilityProblems(page)).toEqual([]);

      await page.getByRole('radio', { name: 'older' }).check();
      expect(await page.getByLabel('Name of its agent').isVisible()).toBe(false);
      await page.getByRole('radio', { name: 'A new agent' }).check();
      await page.getByLabel('Name of its agent').fill(`editor-${colorScheme}`);
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(`${callback}?code=*`);
      // Sending the form ends with a redirect to the client's address on another origin, which the
      // browser fixture records as a complaint.
      expect(complaints.filter((each) => !each.startsWith('request to http://127.0.0.1'))).toEqual(
        [],
      );
      await context.close();
    }
    clientServer.close();
    clientServer.closeAllConnections();
  },
);

test.skipIf(!chromium.isAvailable)(
  `the consent and sign-in forms may redirect only to the client’s address, for every kind of address${chromium.note}`,
  async () => {
    await using world = await startWorld();
    await using browser = await openChromium();
    const password = 'CANARY-battery-staple';
    await choosePassword(world.url, world.admin, { email: 'ann@example.com', password });
    const clientServer = createServer((_request, reply) => reply.end('<h1>Connected</h1>'));
    clientServer.listen(0, '::');
    await once(clientServer, 'listening');
    const { port } = clientServer.address() as AddressInfo;
    const redirectUris = [
      [`http://127.0.0.1:${port}/callback`, `http://127.0.0.1:${port}`],
      [`http://[::1]:${port}/callback`, `http://*:${port}`],
      ['https://app.example/callback', 'https://app.example'],
      ['com.example.app:/callback', 'com.example.app:'],
    ] as const;

    for (const [redirectUri, target] of redirectUris) {
      const { client_id: clientId } = successfulBodyOf(
        await world.admin.post('/oauth/register', { redirect_uris: [redirectUri] }),
      );
      const { url } = createAuthorizationRequest(world.url, {
        client_id: clientId,
        redirect_uri: redirectUri,
      });
      // Signs in and goes on to the client. The first time, the consent form leads to the client.
      // Once the person has allowed the client, the sign-in form does.
      for (const lastButton of ['Allow', 'Sign in']) {
        const { page, context, complaints } = await browser.newPage();
        const policies: string[] = [];
        page.on('response', (answer) => {
          const policy = answer.headers()['content-security-policy'];
          const isPage = answer.headers()['content-type']?.startsWith('text/html') === true;
          if (isPage && policy !== undefined) policies.push(policy);
        });
        const press = (button: string) =>
          page.getByRole('button', { name: button, exact: true }).click();
        await page.goto(url);
        await page.getByLabel('E-mail address').fill('ann@example.com');
        await page.getByLabel('Password').fill(password);
        if (lastButton === 'Allow') {
          await press('Sign in');
          await page.getByRole('heading', { name: /act for you/ }).waitFor();
        }
        // Some of the addresses do not answer, so the test waits only until the browser leaves for
        // them.
        const isCallback = (address = '') => address.startsWith(`${redirectUri}?code=`);
        const leaving = redirectUri.startsWith('http')
          ? page.waitForRequest((request) => isCallback(request.url()))
          : page.waitForResponse((answer) => isCallback(answer.headers()['location']));
        await press(lastButton);
        await leaving;
        await context.close();

        // The browser would log here what the content security policy blocked.
        expect(complaints.filter((each) => !each.startsWith('request to '))).toEqual([]);
        expect(policies).not.toEqual([]);
        for (const policy of policies) expect(policy).toContain(`form-action 'self' ${target};`);
      }
    }
    clientServer.close();
    clientServer.closeAllConnections();
  },
);
