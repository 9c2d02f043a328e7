import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { launch } from '../../launch.ts';
import { signIn } from '../support/http.ts';
import type { Caller } from '../support/http.ts';
import { startUpstream } from './support/upstream.ts';
import type { Upstream } from './support/upstream.ts';
import { freePort } from './support/port.ts';
import { created } from './support/world.ts';

const value = `CANARY-${randomUUID()}`;
let dataDir: string;
let upstream: Upstream;
let port: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'aag-master-key-'));
  upstream = await startUpstream();
  port = String(await freePort());
  return async () => {
    upstream[Symbol.dispose]();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
});

const start = () =>
  launch(
    { LOG_LEVEL: 'silent', PORT: port, EGRESS_ALLOW: upstream.host },
    { dataDir, durable: false },
  );

async function changeMasterKey(change: (now: string) => string): Promise<void> {
  const path = join(dataDir, 'keys.json');
  const keys = JSON.parse(await readFile(path, 'utf8')) as Record<string, string>;
  await writeFile(path, JSON.stringify({ ...keys, MASTER_KEY: change(keys['MASTER_KEY'] ?? '') }));
}

/** With nothing said but where the data is. */
function rotate(): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'], DATA_DIR: dataDir };
  return new Promise((resolve) => {
    execFile(process.execPath, ['executor/rotate.ts'], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function send(user: Caller): Promise<void> {
  const call = { service: 'http', method: 'GET', url: `${upstream.url}/notes` };
  const secrets = [{ name: 'kept', in: 'header', key: 'x-key' }];
  created(await user.post('/v1/actions/call', { ...call, secrets }));
  expect(upstream.hits.at(-1)?.headers['x-key']).toBe(value);
}

test(
  'an operator of one gateway changes its master key, and cannot start it with a wrong one',
  { timeout: 180_000 },
  async () => {
    let user: Caller;
    {
      await using gateway = await start();
      user = await signIn(gateway.firstSignInUrl ?? '');
      created(
        await user.post('/v1/secrets', { name: 'kept', value, allowed_hosts: [upstream.host] }),
      );
      await send(user);
    }
    expect(await rotate()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Nothing runs on .*npm start/),
    });

    const fresh = randomBytes(32).toString('base64url');
    let old = '';
    await changeMasterKey((now) => {
      old = now;
      return fresh;
    });
    await expect(start()).rejects.toThrow(
      'MASTER_KEY does not open this vault: give the key it was made with (of several, every one still in use, newest first), or start with an empty database.',
    );

    await changeMasterKey(() => `${fresh},${old}`);
    {
      await using _gateway = await start();
      await send(user);
      expect(await rotate()).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^Rewrapped [1-9]\d* data keys\. .* may be taken away now\.$/m,
        ),
      });
      await send(user);
    }
    await changeMasterKey(() => fresh);
    {
      await using _gateway = await start();
      await send(user);
    }
    await changeMasterKey(() => old);
    await expect(start()).rejects.toThrow(/^MASTER_KEY does not open this vault/);
  },
);
