import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { launch } from '../../launch.ts';
import { signIn } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { programEnv } from '../support/program-env.ts';
import { startUpstream } from '../support/upstream.ts';
import type { Upstream } from '../support/upstream.ts';
import { lastingPort } from '../../services-src/embedded/index.ts';
import { successfulBodyOf } from '../support/world.ts';

const value = `CANARY-${randomUUID()}`;
let dataDir: string;
let upstream: Upstream;
let port: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'aag-master-key-'));
  upstream = await startUpstream();
  port = String(await lastingPort());
  return async () => {
    upstream[Symbol.dispose]();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
});

const startGateway = () =>
  launch(
    { LOG_LEVEL: 'silent', PORT: port, EGRESS_ALLOW: upstream.host },
    { dataDir, durable: false },
  );

async function changeMasterKey(changeKey: (now: string) => string): Promise<void> {
  const path = join(dataDir, 'keys.json');
  const keys = JSON.parse(await readFile(path, 'utf8')) as Record<string, string>;
  await writeFile(
    path,
    JSON.stringify({ ...keys, MASTER_KEY: changeKey(keys['MASTER_KEY'] ?? '') }),
  );
}

/** Runs the command that rotates the master key, with the data folder as its only setting. */
function runRotation(): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...programEnv, DATA_DIR: dataDir };
  return new Promise((resolve) => {
    execFile(process.execPath, ['executor/rotate.ts'], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function sendCall(user: Caller): Promise<void> {
  const call = { service: 'http', method: 'GET', url: `${upstream.url}/notes` };
  const secrets = [{ name: 'kept', in: 'header', key: 'x-key' }];
  successfulBodyOf(await user.post('/v1/actions/call', { ...call, secrets }));
  expect(upstream.hits.at(-1)?.headers['x-key']).toBe(value);
}

test(
  'an operator changes the master key of a gateway; the gateway does not start with a wrong key',
  { timeout: 180_000 },
  async () => {
    let user: Caller;
    {
      await using gateway = await startGateway();
      user = await signIn(gateway.firstSignInUrl ?? '');
      successfulBodyOf(
        await user.post('/v1/secrets', { name: 'kept', value, allowed_hosts: [upstream.host] }),
      );
      await sendCall(user);
    }
    expect(await runRotation()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Nothing runs on .*npm start/),
    });

    const newKey = randomBytes(32).toString('base64url');
    let oldKey = '';
    await changeMasterKey((now) => {
      oldKey = now;
      return newKey;
    });
    await expect(startGateway()).rejects.toThrow(
      'MASTER_KEY does not open this vault: give the key it was made with (of several, every one still in use, newest first), or start with an empty database.',
    );

    await changeMasterKey(() => `${newKey},${oldKey}`);
    {
      await using _gateway = await startGateway();
      await sendCall(user);
      expect(await runRotation()).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^Rewrapped [1-9]\d* data keys\. .* may be taken away now\.$/m,
        ),
      });
      await sendCall(user);
    }
    await changeMasterKey(() => newKey);
    {
      await using _gateway = await startGateway();
      await sendCall(user);
      expect(await runRotation()).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^Rewrapped 0 data keys\. MASTER_KEY holds one key alone: to change it, [^.]*\.$/m,
        ),
      });
    }
    await changeMasterKey(() => oldKey);
    await expect(startGateway()).rejects.toThrow(/^MASTER_KEY does not open this vault/);
  },
);
