import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

import { startGateway } from './gateway.testing.ts';
import { makeFolder, startProgram } from './program.testing.ts';

const bin = fileURLToPath(new URL('bin.mjs', import.meta.url));

async function run(args: readonly string[], environment: Record<string, string> = {}) {
  const program = startProgram(args, environment);
  const lines: string[] = [];
  for (let line = await program.nextLine(); line !== undefined; line = await program.nextLine()) {
    lines.push(line);
  }
  return { code: await program.exited, stdout: lines.join('\n'), stderr: program.stderr() };
}

test.each([
  [['--help']],
  [['mcp', '--help']],
  [['mcp', 'login', '-h']],
  [['mcp', 'logout', '--help']],
])('%j tells how to use it', async (args) => {
  const { code, stdout, stderr } = await run(args);
  expect(code).toBe(0);
  expect(stdout).toContain(`action-gateway ${args.slice(0, -1).join(' ')}`.trim());
  expect(stderr).toBe('');
});

test('--version is the version of the package', async () => {
  const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  expect(await run(['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
});

test.each([
  [[], 'action-gateway mcp login'],
  [['serve'], 'There is no command "serve"'],
  [['--verbose'], 'There is no command'],
  [['mcp', '--verbose'], "Unknown option '--verbose'"],
  [['mcp', 'start'], "Unexpected argument 'start'"],
  [['mcp', '--url'], "Option '--url <value>' argument missing"],
  [['mcp', 'login', '--no-browser=yes'], 'does not take an argument'],
])('%j is wrong use, and nothing is done', async (args, message) => {
  const { code, stdout, stderr } = await run(args);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain(message);
});

test('a key that is none, or a file that is not there, is refused without being shown', async () => {
  const wrong = await run(['mcp'], { ACTION_GATEWAY_KEY: 'CANARY-not-a-key' });
  expect(wrong).toMatchObject({ code: 1, stdout: '' });
  expect(wrong.stderr).toContain('ACTION_GATEWAY_KEY');
  expect(wrong.stderr).not.toContain('CANARY');
  const missing = await run(['mcp'], { ACTION_GATEWAY_KEY_FILE: '/nonexistent/key' });
  expect(missing).toMatchObject({ code: 1, stdout: '' });
  expect(missing.stderr).toContain('/nonexistent/key');
});

test.each([
  [['mcp', '--credential-file', '/dev/null/mcp.json'], 'cannot be read'],
  [['mcp', 'logout', '--credential-file', '/dev/null/mcp.json'], 'cannot be written'],
])('a place where nothing can be kept is refused: %j', async (args, message) => {
  const { code, stderr } = await run(args);
  expect(code).toBe(1);
  expect(stderr).toContain(message);
});

test('a login that is named goes before a key in the environment', async () => {
  await using folder = await makeFolder();
  const { stderr } = await run(['mcp', '--credential-file', join(folder.path, 'none.json')], {
    ACTION_GATEWAY_KEY: 'aak_CANARYkey',
  });
  expect(stderr).toContain('There is no login yet');
});

test('a key may be in a file, and the address of the endpoint may be given for that of the gateway', async () => {
  await using gateway = await startGateway();
  await using folder = await makeFolder();
  const file = join(folder.path, 'key');
  await writeFile(file, 'aak_CANARYkey\n');
  await using shim = startProgram(['mcp', '--url', `${gateway.url}/mcp`], {
    ACTION_GATEWAY_KEY_FILE: file,
  });
  shim.send({ id: 1, method: 'x' });
  expect(await shim.next()).toMatchObject({ id: 1, result: {} });
  expect(gateway.calls[0]?.headers.authorization).toBe('Bearer aak_CANARYkey');
});

test('a key is not sent in the open', async () => {
  const { code, stderr } = await run(['mcp', '--url', 'http://gateway.example'], {
    ACTION_GATEWAY_KEY: 'aak_CANARYkey',
  });
  expect(code).toBe(1);
  expect(stderr).toContain('must be https');
});

test('a loopback gateway is reached directly, whatever proxy the environment names', async () => {
  await using gateway = await startGateway();
  const proxy = 'http://127.0.0.1:59999';
  await using shim = startProgram(['mcp', '--url', gateway.url], {
    ACTION_GATEWAY_KEY: 'aak_CANARYkey',
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
  });
  shim.send({ id: 1, method: 'x' });
  expect(await shim.next()).toMatchObject({ id: 1, result: {} });
});

test('it runs from anywhere, and by the link that npm makes', async () => {
  await using folder = await makeFolder();
  const link = join(folder.path, 'action-gateway');
  await symlink(bin, link);
  const { stdout } = await promisify(execFile)(link, ['--help'], { cwd: '/' });
  expect(stdout).toContain('action-gateway mcp');
});
