import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

import { programEnv } from '../../test/support/program-env.ts';
import { makeFolder } from '../program.testing.ts';
import { answerFrom, startWorld } from '../rest/world.testing.ts';

const execute = promisify(execFile);
const packageFolder = fileURLToPath(new URL('.', import.meta.url));
const rootManifest = new URL('../../package.json', import.meta.url);
/** Programs see the Node that runs this test, and no module of the checkout. */
const environment = {
  ...programEnv,
  HOME: '/nonexistent',
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
};

test('the package installs without a registry into an empty folder, and its program works there', async () => {
  await using folder = await makeFolder();
  const inFolder = { cwd: folder.path, env: { ...environment, HOME: folder.path } };
  const pack = ['pack', packageFolder, '--pack-destination', folder.path];
  const packed = await execute('npm', pack, inFolder);
  const tarball = packed.stdout.trim().split('\n').at(-1) ?? '';
  await execute(
    'npm',
    ['install', '--offline', '--no-audit', join(folder.path, tarball)],
    inFolder,
  );
  const program = join(folder.path, 'node_modules/.bin/action-gateway');
  const called = { status_code: 200, body: { ok: true } };
  await using world = await startWorld({
    answerRest: answerFrom({
      'POST /v1/actions/call': { status: 'called', result: called, action_description: 'Do it' },
    }),
  });
  const run = async (...args: string[]) => {
    const settings = {
      ACTION_GATEWAY_KEY: 'aak_CANARYkey',
      ACTION_GATEWAY_URL: world.gateway.url,
    };
    const env = { ...environment, ...settings };
    const options = { cwd: folder.path, env };
    const ended = execute(program, args, options).then((output) => ({ code: 0, ...output }));
    return ended.catch((error: { code: number; stdout: string; stderr: string }) => error);
  };

  const { version } = JSON.parse(await readFile(rootManifest, 'utf8')) as { version: string };
  expect(await run('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
  expect((await run('--help')).stdout).toContain('Usage: action-gateway');
  expect(JSON.parse((await run('call', 'github', 'get')).stdout)).toEqual({ ok: true });
  await world.gateway.stop();
  const doctor = await run('doctor');
  expect(doctor).toMatchObject({ code: 6, stdout: expect.stringContaining('does not answer') });
  const start = await run('start');
  expect(start).toMatchObject({ code: 1, stderr: expect.stringContaining('clone its repository') });
  const licences = 'node_modules/@agent-action-gateway/cli/THIRD-PARTY-LICENSES';
  const text = await readFile(join(folder.path, licences), 'utf8');
  for (const name of ['commander', 'oauth4webapi']) expect(text).toContain(`${name} `);
});
