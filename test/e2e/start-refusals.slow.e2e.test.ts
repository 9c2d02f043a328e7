import { readdir } from 'node:fs/promises';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startProgram } from '../support/program.ts';
import { startUpstream } from '../support/upstream.ts';
import {
  createTemporaryDir,
  expectRefusal,
  expectSentence,
  unknownNames,
  wrongValues,
} from './start/refusals.testing.ts';
import type { TemporaryDir, WrongSetting } from './start/refusals.testing.ts';

describe('the command node start.ts stops, as do the components already started, because of', () => {
  let dir: TemporaryDir;
  beforeAll(async () => {
    dir = await createTemporaryDir();
  });
  afterAll(() => dir[Symbol.asyncDispose]());

  test.for<WrongSetting>([
    ['BASE_URL', 'http://gateway.example.com', /https/],
    ['BASE_URL', 'https://gateway.example.com/path', /a scheme, a host and a port alone/],
    ['EGRESS_ALLOW', 'somewhere', /host:port/],
    ['TRUSTED_PROXIES', 'everybody', /CIDR/],
    ['TEMPLATES_DIR', '/no/such/folder', /a folder that cannot be read/],
    ['MASTER_KEY', 'not-a-key', /32 random bytes/],
    ['PERMIT_KEY_FILE', '/no/such/file', /a file that cannot be read/],
  ])('%s=%s', async (wrongSettings) => {
    await expectRefusal(dir.path, [wrongSettings]);
  });
});

describe.concurrent('before anything is started,', () => {
  test.for<WrongSetting>([
    ...wrongValues,
    ['PORT', '70000', /65535/],
    ['DATA_DIR', '/dev/null/data', /choose another DATA_DIR/i],
    ...unknownNames,
  ])('%s=%s alone stops the program, which reports it', async (wrongSettings) => {
    await using dir = await createTemporaryDir();
    await expectRefusal(dir.path, [wrongSettings]);
  });

  test('the port of another server stops the program, which reports it', async () => {
    await using dir = await createTemporaryDir();
    using upstream = await startUpstream();
    const { port } = new URL(upstream.url);
    await expectRefusal(dir.path, [['PORT', port, new RegExp(`PORT ${port}`)]]);
    expect(await readdir(dir.path)).toEqual([]);
  });
});

test('a data folder that another instance uses is refused, and that instance is not disturbed', async () => {
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
