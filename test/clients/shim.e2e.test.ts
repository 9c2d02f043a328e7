import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { choosePassword } from '../e2e/support/people.ts';
import { startWorld } from '../e2e/support/world.ts';
import type { World } from '../e2e/support/world.ts';
import { withKey } from '../support/http.ts';
import { startDesk } from './desk.ts';
import type { Desk } from './desk.ts';
import { connectStdio, patience } from './stdio.ts';

const program = fileURLToPath(new URL('../../cli/bin.mjs', import.meta.url));
const whoami = ['service_auth', { operation: 'whoami' }] as const;

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

const run = (...args: string[]) =>
  promisify(execFile)(process.execPath, [program, ...args], { env: { ...desk.env } });
const statusOf = async (token: string) =>
  (await withKey(world.url, token).get('/v1/identities/me')).status;
const tokens = () => world.tables.query('select kind, consumed_at from auth.oauth_token');

test('two editors share one login, through its refreshes and to its end', async () => {
  const { stdout } = await run('mcp', 'login', '--url', world.url);
  expect(stdout).toContain(`Logged in at ${world.url}.`);
  expect(await desk.opened()).toHaveLength(1);
  const editors = await Promise.all([1, 2].map(() => connectStdio([program, 'mcp'], desk.env)));
  const askAll = () => Promise.all(editors.map((editor) => editor.callTool(...whoami)));
  const [one, other] = await askAll();
  expect(one).toMatchObject({ isError: false, chain: [{ id: world.admin.id }, {}] });
  expect(other?.['identity']).toEqual(one?.['identity']);

  for (const round of [1, 2, 3]) {
    const before = await desk.storedAccessToken();
    await world.tables.query(
      `update auth.oauth_token set expires_at = now() where kind = 'access'`,
    );
    await expect.poll(() => statusOf(before), patience).toBe(401);
    for (const answer of await askAll()) expect(answer).toMatchObject({ isError: false });
    // Together they used the refresh token once, or all of this would have ended.
    const used = (await tokens()).filter((each) => each.kind === 'refresh' && each.consumed_at);
    expect(used).toHaveLength(round);
    expect(await statusOf(await desk.storedAccessToken())).toBe(200);
  }

  const last = await desk.storedAccessToken();
  await run('mcp', 'logout');
  await expect.poll(() => statusOf(last), patience).toBe(401);
  for (const editor of editors) {
    await expect(editor.callTool(...whoami)).rejects.toThrow(/mcp login/);
    await editor.close();
  }
  expect(await desk.opened()).toHaveLength(1);
});
