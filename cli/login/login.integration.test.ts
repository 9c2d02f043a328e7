import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { calculatePKCECodeChallenge } from 'oauth4webapi';
import { expect, test } from 'vitest';

import { startGateway } from '../gateway.testing.ts';
import type { Gateway, GatewayBehaviour } from '../gateway.testing.ts';
import { readCredentialFile } from '../credential/file.ts';
import { makeFolder, runToEnd, startProgram } from '../program.testing.ts';

interface Visit {
  readonly address: URL;
  readonly page: string;
  readonly status: number;
}

async function startWorld(behaviour: GatewayBehaviour = {}) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await startGateway(behaviour));
  const folder = stack.use(await makeFolder());
  const file = join(folder.path, 'new', 'folder', 'mcp.json');
  const commonArgs = ['--url', gateway.url, '--credential-file', file];
  return { gateway, file, base: commonArgs, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/**
 * Runs the login with a simulated browser that follows redirects. Returns what the browser, the
 * terminal and the gateway received.
 */
async function runLogin(
  args: readonly string[],
  browse: (address: string) => Promise<Visit> = visit,
) {
  return runLoginCommand(['mcp', 'login', '--no-browser', ...args], { browse });
}

async function runLoginCommand(
  command: readonly string[],
  {
    browse = visit,
    environment = {},
  }: { browse?: (address: string) => Promise<Visit>; environment?: Record<string, string> } = {},
) {
  const program = startProgram(command, environment);
  const stdout: string[] = [];
  let lastVisit: Visit | undefined;
  for (let line = await program.nextLine(); line !== undefined; line = await program.nextLine()) {
    stdout.push(line);
    if (URL.canParse(line.trim())) lastVisit = await browse(line.trim());
  }
  return {
    code: await program.exitCode,
    stdout: stdout.join('\n'),
    stderr: program.stderr(),
    visited: lastVisit,
  };
}

async function visit(address: string): Promise<Visit> {
  const answer = await fetch(address);
  return { address: new URL(address), page: await answer.text(), status: answer.status };
}

const pathsOf = ({ oauthRequests: oauth }: Gateway) => oauth.map(({ path }) => path);

test('a login finds the authorization server, registers a client, asks for consent, and stores the tokens', async () => {
  await using world = await startWorld();
  const { code, stdout, visited } = await runLogin(world.base);
  expect(code).toBe(0);
  expect(stdout).toContain(`Logged in at ${world.gateway.url}`);
  expect(stdout).not.toContain('CANARY');
  expect(visited).toMatchObject({ status: 200, page: expect.stringContaining('Logged in') });

  expect(pathsOf(world.gateway)).toEqual(['/oauth/register', '/oauth/authorize', '/oauth/token']);
  const [registration, , token] = world.gateway.oauthRequests;
  expect(registration?.json).toEqual({
    client_name: 'action-gateway mcp',
    software_id: 'agent-action-gateway-cli',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  });
  const authorizationParameters = Object.fromEntries(visited?.address.searchParams ?? []);
  expect(authorizationParameters).toMatchObject({
    response_type: 'code',
    client_id: 'client-1',
    scope: 'mcp',
    code_challenge_method: 'S256',
    resource: world.gateway.url,
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
  });
  const tokenParameters = Object.fromEntries(token?.body ?? []);
  expect(tokenParameters).toMatchObject({
    grant_type: 'authorization_code',
    code: 'CANARY-code',
    client_id: 'client-1',
    resource: world.gateway.url,
    redirect_uri: authorizationParameters['redirect_uri'],
  });
  expect(await calculatePKCECodeChallenge(tokenParameters['code_verifier'] ?? '')).toBe(
    authorizationParameters['code_challenge'],
  );

  const { credential } = await readCredentialFile(world.file);
  expect(credential).toMatchObject({
    gateway: world.gateway.url,
    access_token: 'CANARY-access-1',
    refresh_token: 'CANARY-refresh-1',
    scope: 'mcp',
  });
  expect((await stat(world.file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(world.file, '..'))).mode & 0o777).toBe(0o700);
  for (const name of await readdir(join(world.file, '..'))) {
    expect((await stat(join(world.file, '..', name))).mode & 0o077).toBe(0);
  }
});

test('the shim uses the login that the login command stores', async () => {
  await using world = await startWorld();
  await runLogin(world.base);
  await using shim = startProgram(['mcp', '--credential-file', world.file]);
  shim.send({ id: 1, method: 'x' });
  expect(await shim.nextFrame()).toMatchObject({ id: 1, result: {} });
});

test('a second login reuses the client; a new one is registered if an option asks for it or if the server has forgotten the client', async () => {
  const forgottenClientIds = new Set<string>();
  await using world = await startWorld({ knowsClient: (id) => !forgottenClientIds.has(id) });
  await runLogin(world.base);
  await runLogin(world.base);
  await runLogin([...world.base, '--new-client']);
  forgottenClientIds.add('client-2');
  await runLogin(world.base);
  const usedClientIds = world.gateway.oauthRequests
    .filter(({ path }) => path === '/oauth/authorize')
    .map(({ body }) => body.get('client_id'));
  expect(usedClientIds).toEqual(['client-1', 'client-1', 'client-2', 'client-3']);
});

test.each([
  ['another issuer', { iss: 'https://evil.example' }],
  ['a missing issuer that the server’s metadata promises', {}],
])('the login refuses an authorization answer with %s', async (_, issuer) => {
  await using world = await startWorld({ authorize: () => ({ code: 'CANARY-code', ...issuer }) });
  const { code, stderr, visited } = await runLogin(world.base);
  expect(code).toBe(1);
  expect(stderr).toContain('"iss"');
  expect(visited?.page).toContain('Not logged in');
  expect(pathsOf(world.gateway)).not.toContain('/oauth/token');
  expect((await readCredentialFile(world.file)).credential).toBeUndefined();
});

test('a refusal of consent is reported in the browser and in the terminal', async () => {
  await using world = await startWorld({
    authorize: (query) => ({
      error: 'access_denied',
      iss: new URL(query.get('resource') ?? '').origin,
    }),
  });
  const { code, stderr, visited } = await runLogin(world.base);
  expect(code).toBe(1);
  expect(stderr).toContain('it was not allowed');
  expect(visited?.page).toContain('it was not allowed');
});

test('a callback with a wrong state, path or host is refused, and the login continues to wait', async () => {
  await using world = await startWorld();
  const { code } = await runLogin(world.base, async (address) => {
    const redirect = new URL(address).searchParams.get('redirect_uri') ?? '';
    const state = new URL(address).searchParams.get('state') ?? '';
    for (const wrong of [
      `${redirect}?code=evil&state=evil`,
      `${redirect}?code=evil`,
      `${new URL(redirect).origin}/?code=evil&state=${state}`,
      `${redirect.replace('127.0.0.1', 'localhost')}?code=evil&state=${state}`,
    ]) {
      expect((await visit(wrong)).status).toBe(400);
    }
    return visit(address);
  });
  expect(code).toBe(0);
  expect(world.gateway.oauthRequests.at(-1)?.body.get('code')).toBe('CANARY-code');
});

test('the page that ends the login in the browser runs no script and cannot be framed', async () => {
  await using world = await startWorld();
  let headers = new Headers();
  await runLogin(world.base, async (address) => {
    const answer = await fetch(address);
    ({ headers } = answer);
    return { address: new URL(address), page: await answer.text(), status: answer.status };
  });
  expect(headers.get('content-security-policy')).toMatch(
    /default-src 'none'.*frame-ancestors 'none'/,
  );
  expect(headers.get('cache-control')).toBe('no-store');
});

test('the login for an agent neither requests nor stores a credential that acts as the user', async () => {
  await using world = await startWorld({ addedTokenMembers: { scope: 'mcp user' } });
  const { code, stderr, visited } = await runLogin([...world.base, '--scope', 'user mcp']);
  expect(visited?.address.searchParams.get('scope')).toBe('mcp');
  expect(code).toBe(1);
  expect(stderr).toContain('acts as the user');
  expect((await readCredentialFile(world.file)).credential).toBeUndefined();
});

test('a person signs in with a client that needs no registration, and an editor cannot use that login', async () => {
  await using world = await startWorld({ addedTokenMembers: { scope: 'user' } });
  const folder = join(world.file, '..', '..');
  const environment = { XDG_CONFIG_HOME: folder };
  const command = ['login', '--no-browser', '--url', world.gateway.url, '--profile', 'work'];
  const { code, stdout, visited } = await runLoginCommand(command, { environment });
  expect(code).toBe(0);
  expect(stdout).not.toContain('CANARY');
  expect(Object.fromEntries(visited?.address.searchParams ?? [])).toMatchObject({
    client_id: 'action-gateway-cli',
    scope: 'user',
    code_challenge_method: 'S256',
    redirect_uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
  });
  expect(pathsOf(world.gateway)).toEqual(['/oauth/authorize', '/oauth/token']);
  const profile = join(folder, 'action-gateway', 'profiles', 'work.json');
  expect((await stat(profile)).mode & 0o777).toBe(0o600);
  expect((await readCredentialFile(profile)).credential?.scope).toBe('user');

  const shim = await runToEnd(['mcp', '--credential-file', profile]);
  expect(shim.code).toBe(1);
  expect(shim.stderr).toContain('acts as the user');
  expect(world.gateway.calls.filter(({ headers }) => headers.authorization)).toEqual([]);

  const logout = await runToEnd(['logout', '--profile', 'work'], environment);
  expect(logout).toMatchObject({ code: 0, stderr: '' });
  expect(world.gateway.oauthRequests.at(-1)?.body.get('token')).toBe('CANARY-refresh-1');
  expect(await readFile(profile, 'utf8')).not.toContain('CANARY');
});

test.each([
  ['for another address', { resource: 'https://evil.example/mcp' }],
  ['that names no authorization server', { authorization_servers: [] }],
  ['whose authorization server has no TLS', { authorization_servers: ['http://auth.example'] }],
])('a login is refused if it finds resource metadata %s', async (_, change) => {
  await using world = await startWorld({
    metadataDocuments: {
      '/.well-known/oauth-protected-resource/mcp': (url) => ({
        resource: url,
        authorization_servers: [url],
        ...change,
      }),
    },
  });
  const { code, stderr, visited } = await runLogin(world.base);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^action-gateway: .+[.?]\n$/);
  expect(visited).toBeUndefined();
  expect(pathsOf(world.gateway)).toEqual([]);
});

test.each([
  ['of another issuer', { issuer: 'https://evil.example' }],
  ['without PKCE', { code_challenge_methods_supported: ['plain'] }],
  ['with a token endpoint without TLS', { token_endpoint: 'http://auth.example/token' }],
  [
    'with a javascript: URL as its authorization endpoint',
    { authorization_endpoint: 'javascript:alert(1)' },
  ],
  ['without a token endpoint', { token_endpoint: undefined }],
])('a login is refused if it finds authorization server metadata %s', async (_, change) => {
  await using world = await startWorld({
    metadataDocuments: {
      '/.well-known/oauth-authorization-server': (url) => ({
        issuer: url,
        authorization_endpoint: `${url}/oauth/authorize`,
        token_endpoint: `${url}/oauth/token`,
        registration_endpoint: `${url}/oauth/register`,
        code_challenge_methods_supported: ['S256'],
        ...change,
      }),
    },
  });
  const { code, stderr, visited } = await runLogin(world.base);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^action-gateway: .+[.?]\n$/);
  expect(visited).toBeUndefined();
  expect(pathsOf(world.gateway)).toEqual([]);
});

test.each([
  ['http://gateway.example', 'it must be https', 2],
  ['ftp://127.0.0.1', 'it must be https', 2],
  ['gateway', 'is not a URL', 2],
  ['https://me:secret@gateway.example', 'not the address of a gateway', 2],
  ['http://127.0.0.1:1', 'does not answer', 6],
])(
  'a login at the address %s fails before anything is sent there',
  async (url, message, exitCode) => {
    await using world = await startWorld();
    const { code, stderr } = await runLogin(['--url', url, '--credential-file', world.file]);
    expect(code).toBe(exitCode);
    expect(stderr).toContain(message);
  },
);

test('a document of the gateway that is too long is not read to its end', async () => {
  await using world = await startWorld({
    metadataDocuments: {
      '/.well-known/oauth-protected-resource/mcp': (url) => ({
        resource: url,
        authorization_servers: [url],
        more: 'x'.repeat(2 * 1_024 * 1_024),
      }),
    },
  });
  const { code, stderr } = await runToEnd(['mcp', 'login', '--url', world.gateway.url]);
  expect(code).toBe(6);
  expect(stderr).toContain('more than 1048576 bytes');
});

test('a stored login for another gateway is not overwritten', async () => {
  await using world = await startWorld();
  await using other = await startGateway();
  await runLogin(world.base);
  const contentBefore = await readFile(world.file, 'utf8');
  const { code, stderr } = await runLogin(['--url', other.url, '--credential-file', world.file]);
  expect(code).toBe(1);
  expect(stderr).toContain(`a login at ${world.gateway.url}`);
  expect(await readFile(world.file, 'utf8')).toBe(contentBefore);
});

test('logging out revokes the login, and the next login reuses the client', async () => {
  await using world = await startWorld();
  await runLogin(world.base);
  await using program = startProgram(['mcp', 'logout', '--credential-file', world.file]);
  expect(await program.exitCode).toBe(0);
  const revocation = world.gateway.oauthRequests.findLast(({ path }) => path === '/oauth/revoke');
  expect(revocation?.body.get('token')).toBe('CANARY-refresh-1');
  expect(await readFile(world.file, 'utf8')).not.toContain('CANARY');
  await runLogin(world.base);
  expect(pathsOf(world.gateway).filter((path) => path === '/oauth/register')).toHaveLength(1);
});

test('logging out deletes the login even if the gateway is unreachable', async () => {
  await using world = await startWorld();
  await runLogin(world.base);
  await world.gateway.stop();
  await using program = startProgram(['mcp', 'logout', '--credential-file', world.file]);
  expect(await program.exitCode).toBe(1);
  expect(program.stderr()).toContain('could not be told');
  expect(await readFile(world.file, 'utf8')).not.toContain('CANARY');
});

test('a file that is not a credential file is not overwritten', async () => {
  await using world = await startWorld();
  await using folder = await makeFolder();
  const file = join(folder.path, 'notes.json');
  await writeFile(file, '{"mine":true}', { mode: 0o600 });
  const { code } = await runLogin(['--url', world.gateway.url, '--credential-file', file]);
  expect(code).toBe(1);
  expect(await readFile(file, 'utf8')).toBe('{"mine":true}');
});
