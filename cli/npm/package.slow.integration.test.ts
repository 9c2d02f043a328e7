import { execFile } from 'node:child_process';
import { mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { beforeAll, describe, expect, test } from 'vitest';

import { programEnv } from '../../test/support/program-env.ts';
import { makeFolder } from '../program.testing.ts';
import { answerFrom, startWorld } from '../rest/world.testing.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const packageFolder = fileURLToPath(new URL('.', import.meta.url));
const bytesMax = 200_000;
/** The started programs find the Node that runs this test, but no module of the checkout. */
const environment = {
  ...programEnv,
  HOME: '/nonexistent',
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
};
const readManifest = async (folder: string) =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    version: string;
    optionalDependencies: Record<string, string>;
  };

describe('the npm package of the CLI, installed into an empty folder without a registry', () => {
  let folder: string;
  let installed: string;
  let packed: { size: number; files: readonly { path: string }[] };
  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    folder = stack.use(await makeFolder()).path;
    installed = join(folder, 'node_modules/@agent-action-gateway/cli');
    const options = { cwd: folder, env: { ...environment, HOME: folder } };
    const pack = ['pack', packageFolder, '--json', '--pack-destination', folder];
    const { stdout } = await execute('npm', pack, options);
    // The output of the prepack script comes before the JSON.
    [packed] = JSON.parse(stdout.slice(stdout.indexOf('[\n')));
    const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
    await execute('npm', ['install', '--offline', '--no-audit', `./${tarball}`], options);
    return () => stack.disposeAsync();
  });

  /** Runs the installed program. `nodeArgs` are arguments for Node itself. */
  const run = async (
    args: readonly string[],
    settings: Record<string, string> = {},
    nodeArgs: readonly string[] = [],
  ) => {
    const program = join(folder, 'node_modules/.bin/action-gateway');
    const options = { cwd: folder, env: { ...environment, ...settings } };
    const ended = execute(process.execPath, [...nodeArgs, program, ...args], options);
    return ended
      .then((output) => ({ code: 0, ...output }))
      .catch((error: { code: number; stdout: string; stderr: string }) => error);
  };

  test('contains the compiled program with its licences, but no test, no source map and no path of this machine', async () => {
    expect(packed.size).toBeLessThan(bytesMax);
    for (const { path } of packed.files) {
      expect(path).toMatch(
        /^(LICENSE|package\.json|scripts\/follow-starter\.mjs|dist\/(THIRD-PARTY-LICENSES|bin\.mjs|[\w-]+\.js))$/,
      );
      expect(await readFile(join(installed, path), 'utf8')).not.toContain(root);
    }
    const text = await readFile(join(installed, 'dist/THIRD-PARTY-LICENSES'), 'utf8');
    for (const name of ['commander', 'oauth4webapi', 'zod']) expect(text).toContain(`${name} `);
  });

  test('has the version of the whole project, and requires the same Node', async () => {
    const { version, optionalDependencies } = await readManifest(root);
    const manifest = await readManifest(installed);
    expect(manifest.version).toBe(version);
    expect(optionalDependencies).toMatchObject(manifest.optionalDependencies);
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  test('calls a gateway, and explains the problem when the gateway does not answer', async () => {
    const called = { status_code: 200, body: { ok: true } };
    await using world = await startWorld({
      answerRest: answerFrom({
        'POST /v1/actions/call': {
          status: 'called',
          result: called,
          action_description: 'Do it',
        },
      }),
    });
    const settings = {
      ACTION_GATEWAY_KEY: 'aak_CANARYkey',
      ACTION_GATEWAY_URL: world.gateway.url,
    };
    expect(JSON.parse((await run(['call', 'github', 'get'], settings)).stdout)).toEqual({
      ok: true,
    });
    await world.gateway.stop();
    const doctor = await run(['doctor'], settings);
    expect(doctor).toMatchObject({ code: 6, stdout: expect.stringContaining('does not answer') });
  });

  test.each([
    [['approvals', 'list']],
    [['agents', 'list']],
    [['secrets', 'list']],
    [['rules', 'list', '--org']],
    [['services', 'list']],
    [['templates', 'list']],
    [['users', 'list']],
    [['webhooks', 'list']],
    [['audit', 'verify']],
    [['search', 'notes']],
    [['call', 'github', 'get']],
    [['whoami']],
    [['mcp']],
  ])(
    'without a login, names the login command to run first, for the arguments %j',
    async (args) => {
      expect(await run(args, { XDG_CONFIG_HOME: join(folder, 'config') })).toMatchObject({
        code: 3,
        stdout: '',
        stderr: expect.stringMatching(/run "action-gateway( mcp)? login"/),
      });
    },
  );

  test('completes words in a shell, and explains where a gateway can be started', async () => {
    expect(await run(['completion', 'bash'])).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['start'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('clone its repository'),
    });
  });

  test('on Node 20, runs with the Node 24 that npm has installed beside it, and otherwise explains what to do', async () => {
    const asNode20 = join(folder, 'as-node-20.mjs');
    // The file changes only the version that the first process sees. The Node that this process
    // starts is run without the file.
    await writeFile(
      asNode20,
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });`,
    );
    const nodeArgs = ['--import', asNode20];
    expect(await run(['--version'], {}, nodeArgs)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/needs Node 24 and this is 20\.20\.2: install Node 24 .*npm/),
    });
    const name = `node-${process.platform}-${process.arch}`;
    await mkdir(join(folder, 'node_modules', name, 'bin'), { recursive: true });
    await symlink(process.execPath, join(folder, 'node_modules', name, 'bin/node'));
    const { version } = await readManifest(root);
    expect(await run(['--version'], {}, nodeArgs)).toMatchObject({
      code: 0,
      stdout: `${version}\n`,
    });
    expect(await run(['nonsense'], {}, nodeArgs)).toMatchObject({ code: 2, stdout: '' });
  });
});
