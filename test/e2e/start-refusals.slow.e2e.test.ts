import { chown, readdir } from 'node:fs/promises';

import { describe, expect, test } from 'vitest';

import { startProgram } from '../support/program.ts';
import { startUpstream } from '../support/upstream.ts';
import {
  createTemporaryDir,
  expectRefusal,
  expectSentence,
  unknownNames,
  wrongValues,
} from './start/refusals.testing.ts';
import type { WrongSetting } from './start/refusals.testing.ts';

describe.concurrent('a wrong setting', () => {
  test.for<WrongSetting>([
    ...wrongValues,
    ['BASE_URL', 'http://gateway.example.com', /https/],
    ['BASE_URL', 'https://gateway.example.com/path', /a scheme, a host and a port alone/],
    ['EGRESS_ALLOW', 'somewhere', /host:port/],
    ['TRUSTED_PROXIES', 'everybody', /CIDR/],
    ['TEMPLATES_DIR', '/no/such/folder', /a folder that cannot be read/],
    ['MASTER_KEY', 'not-a-key', /32 random bytes/],
    ['PERMIT_KEY_FILE', '/no/such/file', /a file that cannot be read/],
    ['HOST', 'x86_64-conda-linux-gnu', /BASE_URL is not set.*HOST=127.0.0.1/],
    ['SIGN_IN_PROVIDERS', '[{}]', /JSON list/],
    ['EGRESS_PROXY', 'http://user:100%@proxy', /%25/],
    ['PORT', '70000', /65535/],
    ['DATA_DIR', '/dev/null/data', /choose another DATA_DIR/i],
    ...unknownNames,
  ])(
    'stops the program before anything is started, and is reported: %s=%s',
    async (wrongSettings) => {
      await using dir = await createTemporaryDir();
      await expectRefusal(dir.path, [wrongSettings]);
      expect(await readdir(dir.path)).toEqual([]);
    },
  );

  test('stops the program before anything is started, and is reported, if it is the port of another server', async () => {
    await using dir = await createTemporaryDir();
    using upstream = await startUpstream();
    const { port } = new URL(upstream.url);
    await expectRefusal(dir.path, [['PORT', port, new RegExp(`PORT ${port}`)]]);
    expect(await readdir(dir.path)).toEqual([]);
  });
});

/** Runs its arguments as a user id without a name, which may not make user namespaces. */
const asNamelessUser = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'mount --bind /bin/false "$(command -v unshare)" && exec setpriv --reuid 3141592 --regid 3141592 --clear-groups "$@"',
  'sh',
];

test.runIf(process.getuid?.() === 0)(
  'a user id without a name stops the program before it creates anything, and the program says what to do',
  async () => {
    await using dir = await createTemporaryDir();
    await chown(dir.path, 3_141_592, 3_141_592);
    await using program = startProgram(dir.path, {}, asNamelessUser);

    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.output.stderr).toMatch(
      /^User 3141592 has no name .* \/etc\/passwd.*DATABASE_URL/,
    );
    expectSentence(program.output.stderr);
    expect(await readdir(dir.path)).toEqual([]);
  },
);

test('a data folder that another instance uses is refused, and the other instance is not disturbed', async () => {
  await using dir = await createTemporaryDir();
  await using program = startProgram(dir.path);
  const url = await program.url();
  const secondProgram = startProgram(dir.path);

  expect(await secondProgram.ended).toEqual({ code: 1, signal: null });
  expect(secondProgram.output.stderr).toMatch(/is in use by process \d+\. Stop it first/);
  expect(secondProgram.output.stderr).toContain(`process ${program.pid}.`);
  expectSentence(secondProgram.output.stderr);
  expect((await fetch(`${url}/health/ready`)).status).toBe(200);
});
