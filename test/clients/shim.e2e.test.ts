import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { choosePassword } from '../support/people.ts';
import { startWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import { createCallerWithKey } from '../support/http.ts';
import { startDesk } from './desk.ts';
import type { Desk } from './desk.ts';
import { connectStdio, longTimeout } from './stdio.ts';

const program = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url));
const whoamiCall = ['service_auth', { operation: 'whoami' }] as const;

let world: World;
let desk: Desk;
beforeAll(async () => {
  world = await startWorld();
  const account = { email: 'ann@example.com', password: 'CANARY-battery-staple' };
  await choosePassword(world.url, world.admin, account);
  desk = await startDesk(world.url, account);
});
afterAll(async () => {
  await desk[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const runShim = (...args: string[]) =>
  promisify(execFile)(process.execPath, [program, ...args], { env: { ...desk.env } });
const statusOf = async (token: string) =>
  (await createCallerWithKey(world.url, token).get('/v1/identities/me')).status;
const queryTokens = () => world.tables.query('select kind, consumed_at from auth.oauth_token');

test('the shims of two editors share one login and its refreshed tokens until the login is revoked', async () => {
  const { stdout } = await runShim('mcp', 'login', '--url', world.url);
  expect(stdout).toContain(`Logged in at ${world.url}.`);
  expect(await desk.listOpenedAddresses()).toHaveLength(1);
  const editors = await Promise.all([1, 2].map(() => connectStdio([program, 'mcp'], desk.env)));
  const askAll = () => Promise.all(editors.map((editor) => editor.callTool(...whoamiCall)));
  const [one, other] = await askAll();
  expect(one).toMatchObject({ isError: false, chain: [{ id: world.admin.id }, {}] });
  expect(other?.['identity']).toEqual(one?.['identity']);

  for (const round of [1, 2, 3]) {
    const earlierToken = await desk.storedAccessToken();
    await world.tables.query(
      `update auth.oauth_token set expires_at = now() where kind = 'access'`,
    );
    await expect.poll(() => statusOf(earlierToken), longTimeout).toBe(401);
    for (const answer of await askAll()) expect(answer).toMatchObject({ isError: false });
    // The two processes together have used the refresh token once. A second use would have ended
    // the sign-in.
    const usedRefreshTokens = (await queryTokens()).filter(
      (each) => each.kind === 'refresh' && each.consumed_at,
    );
    expect(usedRefreshTokens).toHaveLength(round);
    const refreshedToken = await desk.storedAccessToken();
    await expect.poll(() => statusOf(refreshedToken), longTimeout).toBe(200);
  }

  const lastToken = await desk.storedAccessToken();
  await runShim('mcp', 'logout');
  await expect.poll(() => statusOf(lastToken), longTimeout).toBe(401);
  for (const editor of editors) {
    await expect(editor.callTool(...whoamiCall)).rejects.toThrow(/mcp login/);
    await editor.close();
  }
  expect(await desk.listOpenedAddresses()).toHaveLength(1);
});
