import { chmod, mkdir, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { lastingPort } from '../../services-src/embedded/index.ts';
import { chooseSweepValue } from '../../test/support/sweeps.ts';
import { startGateway } from '../gateway.testing.ts';
import type { GatewayBehaviour } from '../gateway.testing.ts';
import { makeFolder, startProgram, writeLogin } from '../program.testing.ts';
import { readCredentialFile } from './file.ts';
import type { Credential } from './file.ts';

async function startWorld(behaviour: GatewayBehaviour = {}, credential: Partial<Credential> = {}) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await startGateway(behaviour));
  const folder = stack.use(await makeFolder());
  const file = join(folder.path, 'config', 'mcp.json');
  gateway.refreshTokens.add('CANARY-refresh-0');
  await writeLogin(file, gateway.url, credential);
  return {
    gateway,
    file,
    folder: folder.path,
    startShim: () => stack.use(startProgram(['mcp', '--credential-file', file])),
    refreshes: () => gateway.oauthRequests.filter(({ path }) => path === '/oauth/token'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test('the shim refreshes an expired token, sends the message again, and stores the new login', async () => {
  await using world = await startWorld();
  const shim = world.startShim();
  shim.send({ id: 1, method: 'x', params: { a: 1 } });
  expect(await shim.nextFrame()).toMatchObject({ id: 1, result: { echo: { a: 1 } } });
  shim.send({ id: 2, method: 'x' });
  await shim.nextFrame();

  expect(world.gateway.calls.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer CANARY-access-0',
    'Bearer CANARY-access-1',
    'Bearer CANARY-access-1',
  ]);
  expect(world.gateway.calls[1]?.body).toBe(world.gateway.calls[0]?.body);
  expect(Object.fromEntries(world.refreshes()[0]?.body ?? [])).toEqual({
    grant_type: 'refresh_token',
    refresh_token: 'CANARY-refresh-0',
    client_id: 'client-1',
    resource: world.gateway.url,
  });
  const { credential, clients } = await readCredentialFile(world.file);
  expect(credential).toMatchObject({
    access_token: 'CANARY-access-1',
    refresh_token: 'CANARY-refresh-1',
  });
  expect(clients).toHaveProperty([world.gateway.url]);
  expect((await stat(world.file)).mode & 0o777).toBe(0o600);
});

test('twenty shims that share one expired login refresh it only once', async () => {
  await using world = await startWorld({ whileRefreshing: () => sleep(100) });
  const shims = Array.from({ length: 20 }, () => world.startShim());
  for (const shim of shims) for (const id of [1, 2, 3]) shim.send({ id, method: 'x' });
  for (const shim of shims) {
    for (const _ of [1, 2, 3])
      expect(await shim.nextFrame(), shim.stderr()).toHaveProperty('result');
  }
  expect(world.refreshes()).toHaveLength(1);
  expect(world.gateway.refreshTokens).toEqual(new Set(['CANARY-refresh-1']));
});

test('a shim that is killed during a refresh leaves a complete file and no lock', async () => {
  const renewalStarted = Promise.withResolvers<void>();
  const neverSettles = new Promise<void>(() => {});
  await using world = await startWorld({
    whileRefreshing: () => {
      renewalStarted.resolve();
      return neverSettles;
    },
  });
  const contentBefore = await readFile(world.file, 'utf8');
  const shim = world.startShim();
  const otherShim = world.startShim();
  shim.send({ id: 1, method: 'x' });
  await renewalStarted.promise;
  otherShim.send({ id: 1, method: 'x' });
  shim.child.kill('SIGKILL');
  await shim.exitCode;

  expect(await readFile(world.file, 'utf8')).toBe(contentBefore);
  // The killed process released the lock, but it had already used the refresh token.
  expect((await otherShim.nextFrame()).error?.message).toContain('action-gateway mcp login');
});

const killDelaysMs = chooseSweepValue({
  sampled: [0, 12, 24, 40],
  whole: Array.from({ length: 12 }, (_, at) => at * 4),
});

test('a shim that is killed at any moment leaves a readable login', async () => {
  await using world = await startWorld();
  for (const delayMs of killDelaysMs) {
    const shim = world.startShim();
    const expiryInterval = setInterval(() => world.gateway.accessTokens.clear(), 1);
    for (let id = 0; id < 200; id++) shim.send({ id, method: 'x' });
    await shim.nextFrame();
    await sleep(delayMs);
    shim.child.kill('SIGKILL');
    await shim.exitCode;
    clearInterval(expiryInterval);
    const { credential } = await readCredentialFile(world.file);
    expect(credential?.access_token).toMatch(/^CANARY-access-\d+$/);
  }
  const names = await readdir(join(world.folder, 'config'));
  expect(names.every((name) => /^mcp\.json(\.lock|\.new)?$/.test(name))).toBe(true);
});

test('a refused refresh token is not sent again, and a new login is used once it is stored', async () => {
  await using world = await startWorld();
  world.gateway.refreshTokens.clear();
  const shim = world.startShim();
  for (const id of [1, 2, 3]) {
    shim.send({ id, method: 'x' });
    const { error } = await shim.nextFrame();
    expect(error?.message).toContain(`action-gateway mcp login --credential-file ${world.file}`);
  }
  expect(world.refreshes()).toHaveLength(1);
  expect(shim.stderr()).not.toContain('CANARY');

  world.gateway.accessTokens.add('CANARY-access-new');
  await writeLogin(world.file, world.gateway.url, { access_token: 'CANARY-access-new' });
  shim.send({ id: 4, method: 'x' });
  expect(await shim.nextFrame()).toMatchObject({ id: 4, result: {} });
});

test('a login that cannot be stored is not refreshed, so that its refresh token stays valid', async () => {
  await using world = await startWorld();
  await mkdir(join(`${world.file}.new`, 'in-the-way'), { recursive: true });
  const shim = world.startShim();
  shim.send({ id: 1, method: 'x' });
  const { error } = await shim.nextFrame();
  expect(error?.message).toContain(`${world.file} cannot be written`);
  expect(world.refreshes()).toEqual([]);
  await rm(`${world.file}.new`, { recursive: true });
  shim.send({ id: 2, method: 'x' });
  expect(await shim.nextFrame()).toMatchObject({ id: 2, result: {} });
});

test('without a refresh token, the shim asks the person to log in', async () => {
  await using world = await startWorld({}, { refresh_token: undefined });
  const shim = world.startShim();
  shim.send({ id: 1, method: 'x' });
  const { error } = await shim.nextFrame();
  expect(error?.message).toContain('action-gateway mcp login');
  expect(shim.stderr()).toContain('action-gateway mcp login');
  expect(world.refreshes()).toHaveLength(0);
});

test('the shim keeps its login while the token endpoint is unreachable', async () => {
  await using world = await startWorld(
    {},
    { token_endpoint: `http://127.0.0.1:${await lastingPort()}/oauth/token` },
  );
  const contentBefore = await readFile(world.file, 'utf8');
  const shim = world.startShim();
  for (const id of [1, 2]) {
    shim.send({ id, method: 'x' });
    expect((await shim.nextFrame()).error?.message).toContain('ECONNREFUSED');
  }
  expect(await readFile(world.file, 'utf8')).toBe(contentBefore);
});

test('for a missing scope the shim names the command that requests the scope, and then uses the new login', async () => {
  const challenge = 'Bearer error="insufficient_scope", scope="approvals"';
  await using world = await startWorld({
    answerMcp: ({ headers, response }) => {
      if (headers.authorization === 'Bearer CANARY-access-wide') {
        response.end('{"jsonrpc":"2.0","id":2,"result":{}}');
      } else response.writeHead(403, { 'www-authenticate': challenge }).end();
    },
    acceptsAnyone: true,
  });
  const shim = world.startShim();
  shim.send({ id: 1, method: 'x' });
  const { error } = await shim.nextFrame();
  expect(error?.message).toContain(`--scope 'mcp approvals'`);
  expect(error?.data).toEqual({
    status: 403,
    error: 'insufficient_scope',
    scope: 'mcp approvals',
  });
  await writeLogin(world.file, world.gateway.url, { access_token: 'CANARY-access-wide' });
  shim.send({ id: 2, method: 'x' });
  expect(await shim.nextFrame()).toMatchObject({ id: 2, result: {} });
});

test('a refreshed token that would act as the user is refused and not stored', async () => {
  await using world = await startWorld({ addedTokenMembers: { scope: 'mcp user' } });
  const shim = world.startShim();
  shim.send({ id: 1, method: 'x' });
  expect((await shim.nextFrame()).error?.message).toContain('acts as the user');
  expect(world.gateway.calls).toHaveLength(1);
});

test('two paths that lead to the same file share one login', async () => {
  await using world = await startWorld({ whileRefreshing: () => sleep(100) });
  const link = join(world.folder, 'link.json');
  await symlink(world.file, link);
  const shim = world.startShim();
  await using shimOfLink = startProgram(['mcp', '--credential-file', link]);
  for (const each of [shim, shimOfLink]) each.send({ id: 1, method: 'x' });
  for (const each of [shim, shimOfLink]) expect(await each.nextFrame()).toHaveProperty('result');
  expect(world.refreshes()).toHaveLength(1);
  const { credential } = await readCredentialFile(world.file);
  expect(credential?.access_token).toBe('CANARY-access-1');
});

test('a login file that other users can read is refused', async () => {
  await using world = await startWorld();
  await chmod(world.file, 0o640);
  const shim = world.startShim();
  expect(await shim.exitCode).toBe(1);
  expect(shim.stderr()).toContain('chmod 600');
  expect(world.gateway.calls).toHaveLength(0);
});

test('a login that acts as the user is refused', async () => {
  await using world = await startWorld({}, { scope: 'mcp user' });
  const shim = world.startShim();
  expect(await shim.exitCode).toBe(1);
  expect(shim.stderr()).toContain('acts as the user');
  expect(world.gateway.calls).toHaveLength(0);
});

test('a login is not sent to a gateway other than its own', async () => {
  await using world = await startWorld();
  await using otherGateway = await startGateway();
  await using shim = startProgram([
    'mcp',
    '--url',
    otherGateway.url,
    '--credential-file',
    world.file,
  ]);
  expect(await shim.exitCode).toBe(1);
  expect(shim.stderr()).toContain(world.gateway.url);
  expect(otherGateway.calls).toHaveLength(0);
});

test.each([
  ['no JSON', 'hello'],
  ['JSON of another form', '{"token":"x"}'],
  ['no content', ''],
])('a login file with %s is refused, and the message names the file', async (_, text) => {
  await using world = await startWorld();
  await writeFile(world.file, text);
  const shim = world.startShim();
  expect(await shim.exitCode).toBe(1);
  expect(shim.stderr()).toContain(`${world.file} is not a credential file`);
});

test('without a credential, the shim prints the complete login command', async () => {
  await using folder = await makeFolder();
  const usualEnvironment = { XDG_CONFIG_HOME: folder.path };
  const file = join(folder.path, 'a b.json');
  const url = 'https://gateway.example';
  for (const [environment, command] of [
    [usualEnvironment, 'action-gateway mcp login'],
    [{ ...usualEnvironment, ACTION_GATEWAY_URL: url }, `action-gateway mcp login --url ${url}`],
    [
      { ...usualEnvironment, ACTION_GATEWAY_CREDENTIAL_FILE: file },
      `action-gateway mcp login --credential-file '${file}'`,
    ],
  ] as const) {
    await using shim = startProgram(['mcp'], environment);
    expect(await shim.exitCode).toBe(3);
    expect(shim.stderr()).toContain(`run "${command}"`);
  }
});
