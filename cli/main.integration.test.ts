import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

import { programEnv } from '../test/support/program-env.ts';
import { startGateway } from './gateway.testing.ts';
import { makeFolder, runToEnd, startProgram } from './program.testing.ts';
import { answerFrom } from './rest/world.testing.ts';

const idOfAgent = '44444444-4444-4444-4444-444444444444';
const agentPath = `/v1/identities/${idOfAgent}`;
const bin = fileURLToPath(new URL('bin.mjs', import.meta.url));

test.each([
  [['--help']],
  [['mcp', '--help']],
  [['mcp', 'login', '-h']],
  [['mcp', 'logout', '--help']],
])('the program prints its usage for the arguments %j', async (args) => {
  const { code, stdout, stderr } = await runToEnd(args);
  expect(code).toBe(0);
  expect(stdout).toContain(`Usage: action-gateway ${args.slice(0, -1).join(' ')}`.trim());
  expect(stderr).toBe('');
});

test('--version prints the version of the package', async () => {
  const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  expect(await runToEnd(['--version'])).toEqual({ code: 0, stdout: version, stderr: '' });
});

test.each([
  [[], 'Usage: action-gateway'],
  [['serve'], "unknown command 'serve'"],
  [['--verbose'], "unknown option '--verbose'"],
  [['mcp', '--verbose'], "unknown option '--verbose'"],
  [['mcp', 'start'], "too many arguments for 'mcp'"],
  [['mcp', '--url'], "option '--url <url>' argument missing"],
  [['mcp', 'login', '--verbose'], 'Try: action-gateway mcp login --help'],
  [['rules', 'remove'], 'Try: action-gateway rules --help'],
  [['mcp', 'login', '--no-browser=yes'], "unknown option '--no-browser=yes'"],
  [['whoami', '--profile', '../other'], 'The name of a profile'],
  [['completion', 'tcsh'], 'bash, zsh or fish'],
  [['login', '--url', 'gateway.example'], 'is not a URL.\nTry: action-gateway login --help'],
])(
  'the program does nothing and reports wrong usage for the arguments %j',
  async (args, message) => {
    const { code, stdout, stderr } = await runToEnd(args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
  },
);

test('with --json, an error that does not come from the gateway also has an error code', async () => {
  await using folder = await makeFolder();
  const { code, stderr } = await runToEnd(['whoami', '--json'], { XDG_CONFIG_HOME: folder.path });
  expect(code).toBe(3);
  expect(JSON.parse(stderr)).toMatchObject({
    error: 'unauthenticated',
    message: expect.stringContaining('action-gateway login'),
  });
  const wrongUse = await runToEnd(['whoami', '--verbose', '--json']);
  expect({ ...wrongUse, stderr: JSON.parse(wrongUse.stderr) }).toEqual({
    code: 2,
    stdout: '',
    stderr: { error: 'usage', message: "unknown option '--verbose'" },
  });
});

test('a malformed key or a missing key file is refused, and the key is not printed', async () => {
  const runWithWrongKey = await runToEnd(['mcp'], { ACTION_GATEWAY_KEY: 'CANARY-not-a-key' });
  expect(runWithWrongKey).toMatchObject({ code: 1, stdout: '' });
  expect(runWithWrongKey.stderr).toContain('ACTION_GATEWAY_KEY');
  expect(runWithWrongKey.stderr).not.toContain('CANARY');
  const runWithMissingFile = await runToEnd(['mcp'], {
    ACTION_GATEWAY_KEY_FILE: '/nonexistent/key',
  });
  expect(runWithMissingFile).toMatchObject({ code: 1, stdout: '' });
  expect(runWithMissingFile.stderr).toContain('/nonexistent/key');
});

test.each([
  [['mcp', '--credential-file', '/dev/null/mcp.json'], 'cannot be read'],
  [['mcp', 'logout', '--credential-file', '/dev/null/mcp.json'], 'cannot be written'],
])(
  'the program refuses a credential file that cannot be written, for the arguments %j',
  async (args, message) => {
    const { code, stderr } = await runToEnd(args);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  },
);

test('a login file given by an option takes precedence over a key in the environment', async () => {
  await using folder = await makeFolder();
  const { stderr } = await runToEnd(['mcp', '--credential-file', join(folder.path, 'none.json')], {
    ACTION_GATEWAY_KEY: 'aak_CANARYkey',
  });
  expect(stderr).toContain('There is no login yet');
});

test('the agent key may be in a file, and the address may be the URL of the MCP endpoint', async () => {
  await using gateway = await startGateway();
  await using folder = await makeFolder();
  const file = join(folder.path, 'key');
  await writeFile(file, 'aak_CANARYkey\n', { mode: 0o644 });
  await using shim = startProgram(['mcp', '--url', `${gateway.url}/mcp`], {
    ACTION_GATEWAY_KEY_FILE: file,
  });
  shim.send({ id: 1, method: 'x' });
  expect(await shim.nextFrame()).toMatchObject({ id: 1, result: {} });
  expect(shim.stderr()).toContain(`${file} can be read by others`);
  expect(gateway.calls[0]?.headers.authorization).toBe('Bearer aak_CANARYkey');
});

test('an agent key is not sent without TLS', async () => {
  const { code, stderr } = await runToEnd(['mcp', '--url', 'http://gateway.example'], {
    ACTION_GATEWAY_KEY: 'aak_CANARYkey',
  });
  expect(code).toBe(2);
  expect(stderr).toContain('must be https');
});

test('a gateway on this machine is reached directly, even if the environment names a proxy', async () => {
  await using gateway = await startGateway();
  const proxy = 'http://127.0.0.1:59999';
  await using shim = startProgram(['mcp', '--url', gateway.url], {
    ACTION_GATEWAY_KEY: 'aak_CANARYkey',
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
  });
  shim.send({ id: 1, method: 'x' });
  expect(await shim.nextFrame()).toMatchObject({ id: 1, result: {} });
});

test('no proxy sees a login for a gateway on this machine, also if Node itself would use one', async () => {
  await using gateway = await startGateway({
    answerRest: answerFrom({ [`POST ${agentPath}/revoke`]: {} }),
  });
  let connections = 0;
  const proxyServer = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(proxyServer, 'listening');
  const proxy = `http://127.0.0.1:${(proxyServer.address() as AddressInfo).port}`;
  const args = ['agents', 'revoke', idOfAgent, '--yes', '--url', gateway.url];
  for (const httpsProxy of ['', proxy]) {
    const { code } = await runToEnd(args, {
      ACTION_GATEWAY_KEY: 'aak_CANARYkey',
      NODE_USE_ENV_PROXY: '1',
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      HTTPS_PROXY: httpsProxy,
    });
    expect({ code, connections }).toEqual({ code: 0, connections: 0 });
  }
  expect(gateway.calls).toHaveLength(2);
  proxyServer.close();
});

test.each([
  ['', 'is not one of a gateway'],
  ['null', 'is not one of a gateway'],
  ['{}', 'is not one that this program understands'],
])('the answer %j to a request for a key ends in a sentence', async (body, sentence) => {
  await using gateway = await startGateway({
    answerRest: ({ response }) => void response.end(body),
  });
  const args = ['keys', 'add', idOfAgent, '--url', gateway.url];
  const { code, stdout, stderr } = await runToEnd(args, { ACTION_GATEWAY_KEY: 'aak_CANARYkey' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(sentence);
  expect(stderr).not.toMatch(/^ +at /m);
});

test.runIf(existsSync('/dev/full'))(
  'a key that cannot be printed is reported as lost, without a stack trace',
  async () => {
    await using gateway = await startGateway({
      answerRest: answerFrom({ [`POST /v1/identities/${idOfAgent}/keys`]: { key: 'aak_CANARY' } }),
    });
    const command = `exec "$0" "$1" keys add ${idOfAgent} --url ${gateway.url} > /dev/full`;
    const run = promisify(execFile)('/bin/sh', ['-c', command, process.execPath, bin], {
      env: { ...programEnv, HOME: '/nonexistent', ACTION_GATEWAY_KEY: 'aak_CANARYkey' },
    });
    const stderr = expect.stringMatching(/cannot be written \(ENOSPC\).*revoke it/);
    await expect(run).rejects.toMatchObject({ code: 1, stderr });
    await expect(run).rejects.not.toMatchObject({ stderr: expect.stringMatching(/^ +at /m) });
  },
);

test('a lock file that is damaged is named, without a stack trace', async () => {
  await using folder = await makeFolder();
  const file = join(folder.path, 'mcp.json');
  await writeFile(`${file}.lock`, 'no database '.repeat(100));
  const { code, stderr } = await runToEnd(['mcp', 'logout', '--credential-file', file]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^action-gateway: .*mcp\.json\.lock is no lock \(.*\): delete it\.\n$/);
});

test('the program runs from any folder, and through the link that npm creates', async () => {
  await using folder = await makeFolder();
  const link = join(folder.path, 'action-gateway');
  await symlink(bin, link);
  const { stdout } = await promisify(execFile)(link, ['--help'], { cwd: '/' });
  expect(stdout).toContain('Usage: action-gateway');
});

test('installed as a package, the whole project says which package to install', async () => {
  await using folder = await makeFolder();
  const installed = join(folder.path, 'node_modules/agent-action-gateway/cli');
  await mkdir(installed, { recursive: true });
  for (const name of ['bin.mjs', 'main.ts']) {
    await copyFile(new URL(name, import.meta.url), join(installed, name));
  }
  const run = promisify(execFile)(process.execPath, [join(installed, 'bin.mjs'), '--help']);
  await expect(run).rejects.toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('npm pack ./cli/npm'),
  });
});
