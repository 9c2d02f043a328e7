import { randomUUID } from 'node:crypto';

import { expect, test } from 'vitest';

import { httpRoutes } from '#contracts/all';
import { createAuthorizationRequest } from '../support/oauth-world.ts';
import { registerClient } from '../support/clients.ts';
import { sendRaw } from '../support/raw.ts';
import { startWorld } from '../support/world.ts';

test('a forged host name in a request appears in no answer, whichever header carries it', async () => {
  await using world = await startWorld();
  const { url, admin } = world;
  const host = new URL(url).host;
  const clientId = await registerClient(world);
  const authorize = new URL(createAuthorizationRequest(url, { client_id: clientId }).url);
  const forgedHeaders = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'gopher',
    'x-original-url': 'https://evil.example/',
    forwarded: 'host=evil.example;proto=gopher',
  };
  const paths = [
    ...Object.values(httpRoutes)
      .filter(({ method }) => method === 'GET')
      .map(({ path }) => path),
    '/',
    '/sign-in',
    '/approvals/x',
    '/mcp',
    '/openapi.json',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource/mcp',
    authorize.pathname + authorize.search,
  ].filter((path) => path !== '/v1/events');
  for (const path of paths) {
    for (const sent of [{ host: 'evil.example' }, { host, ...forgedHeaders }]) {
      for (const cookie of [admin.cookie, '']) {
        const target = path.replaceAll(/\{\w+\}/g, () => randomUUID());
        const headers = { cookie, ...sent };
        const reply = await sendRaw(url, { method: 'GET', path: target, headers });
        const text = JSON.stringify([reply.body, [...reply.headers]]);
        // The message that refuses a wrong host contains the host that the request named.
        const shown =
          reply.status === 403
            ? text.replaceAll('the request named the host evil.example', '')
            : text;
        expect(shown, path).not.toMatch(/evil\.example|gopher/);
      }
    }
  }
});
