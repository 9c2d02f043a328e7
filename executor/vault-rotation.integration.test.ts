import { execFile, spawn } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ConfigError, loadConfig } from '#config';
import type { RunningComponent } from '#process';
import { executorConfig } from './config.ts';
import { parseMasterKeys } from './domain/sealing.ts';
import type { MasterKey } from './domain/sealing.ts';
import { startExecutor } from './start.ts';
import { unwrapDataKey, wrapDataKey } from './vault/master-keys.ts';
import { canary, context, createWorld, options, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

/** `npm run test:vault` asks for more of each. */
const callsPerSecond = Number(process.env['VAULT_CALLS_PER_SECOND'] ?? 100);
const phaseMs = Number(process.env['VAULT_PHASE_MS'] ?? 300);
const kills = Number(process.env['VAULT_KILLS'] ?? 3);
const orgs = Number(process.env['VAULT_ORGS'] ?? 1_500);

let world: World;
let old: string;
beforeEach(async () => {
  world = await createWorld();
  old = world.variables['MASTER_KEY'] ?? '';
});
afterEach(() => world[Symbol.asyncDispose]());

const newKey = () => randomBytes(32).toString('base64url');
const start = (MASTER_KEY: string) =>
  startExecutor(loadConfig(executorConfig, { ...world.variables, MASTER_KEY }));
const environmentWith = (MASTER_KEY: string) => ({
  PATH: process.env['PATH'],
  ...world.variables,
  MASTER_KEY,
});
/** `npm run vault:rotate`, as an operator runs it; how many data keys it says it rewrapped. */
async function rotate(MASTER_KEY: string): Promise<number> {
  const env = environmentWith(MASTER_KEY);
  const { stdout } = await promisify(execFile)(process.execPath, ['executor/rotate.ts'], { env });
  return Number(/^Rewrapped (\d+) data keys/.exec(stdout)?.[1] ?? Number.NaN);
}
const keyIds = (text: string) => (parseMasterKeys(text) ?? []).map(({ id }) => id);

/** A secret in an org of its own, and a call that is sent with it. */
async function storeAndUse(orgId: string) {
  const principal = world.principalOf({ role: 'admin', orgId });
  const body = { name: 'rotating', value: canary(), allowed_hosts: [world.upstream.host] };
  const { id } = await world.gateway.createSecret({ principal, body }, soon());
  const call = world.actionCall('get', { id: '1' });
  const secrets = [{ id, name: 'rotating' }];
  return async () => {
    const permit = world.permitOf(call, { orgId, secrets });
    const { kind } = await world.gateway.execute({ permit, call, options, context }, soon());
    if (kind !== 'called') throw new Error(kind);
  };
}

describe('a new master key', { timeout: 240_000 }, () => {
  test('is given to running executors, one after the other, and no call fails', async () => {
    const fresh = newKey();
    const uses = await Promise.all(Array.from({ length: 10 }, () => storeAndUse(uuidv7())));
    const replicas: RunningComponent[] = [await start(old), await start(old)];
    await world.stopExecutor();
    const replaceEach = async (MASTER_KEY: string) => {
      for (const [at, running] of replicas.entries()) {
        replicas[at] = await start(MASTER_KEY);
        await running[Symbol.asyncDispose]();
        await sleep(phaseMs);
      }
    };

    const load = offer(async (at) => {
      const use = uses[at % uses.length];
      await use?.();
      // Now and then an org stores its first secret, under whichever key is the right one then.
      if (at % 25 === 0) uses.push(await storeAndUse(uuidv7()));
    });
    await sleep(phaseMs);
    await replaceEach(`${fresh},${old}`);
    expect(await masterKeysInUse()).toEqual(keyIds(old));
    const rewrapped = await Promise.all([rotate(`${fresh},${old}`), rotate(`${fresh},${old}`)]);
    expect(Math.max(...rewrapped)).toBeGreaterThan(0);
    expect(await masterKeysInUse()).toEqual(keyIds(fresh));
    await sleep(phaseMs);
    await replaceEach(fresh);
    const { sent, failures, perSecond } = await load.stop();

    expect(failures).toEqual([]);
    expect(sent).toBeGreaterThan(50);
    if (process.env['VAULT_CALLS_PER_SECOND'] !== undefined) {
      process.stdout.write(`${sent} calls, ${perSecond} a second, none failed\n`);
    }
    for (const use of uses) await use();
    for (const running of replicas) await running[Symbol.asyncDispose]();
    await expect(start(old)).rejects.toBeInstanceOf(ConfigError);
  });

  test('is put in place however often that is killed in the middle; the keys before it open nothing then', async () => {
    const use = await storeAndUse(uuidv7());
    let keys: MasterKey[] = mastersOf(old);
    const dataKeys = await insertDataKeys(keys[0]!);
    let setting = old;
    for (let round = 0; round < kills; round += 1) {
      setting = `${newKey()},${setting}`;
      keys = mastersOf(setting);
      await killInTheMiddle(setting);
      const found = await listDataKeys();
      expect(new Set(found.map(({ masterKey }) => masterKey)).size).toBeGreaterThan(1);
      expect(openedBy(keys, found)).toEqual(dataKeys);
      await expect(start(setting.split(',')[0] ?? '')).rejects.toThrow(/every one still in use/);
    }
    expect(await rotate(setting)).toBeGreaterThan(0);
    expect(await rotate(setting)).toBe(0);

    const [newest, ...before] = keys;
    const found = await listDataKeys();
    expect(openedBy([newest!], found)).toEqual(dataKeys);
    // Not even by somebody who has kept the old key and says that it is the one.
    for (const { id: _, ...key } of before) {
      for (const each of found.slice(0, 50)) {
        const named = [{ ...key, id: each.masterKey }] as const;
        expect(() => unwrapDataKey(named, each)).toThrow();
      }
    }
    await world.stopExecutor();
    await using _running = await start(setting.split(',')[0] ?? '');
    await use();
  });
});

/** Offers calls at a steady rate, whatever becomes of the earlier ones, until stopped. */
function offer(call: (at: number) => Promise<void>) {
  const failures: string[] = [];
  const under = new Set<Promise<void>>();
  const startMs = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) / 1000) * callsPerSecond);
    // What a busy machine cannot keep up with is not offered: slots are not what is tested here.
    for (; sent < due && under.size < 48; sent += 1) {
      const work = call(sent)
        .catch((error: unknown) => void failures.push(String(error)))
        .finally(() => under.delete(work));
      under.add(work);
    }
  }, 5);
  return {
    async stop() {
      clearInterval(timer);
      const seconds = (performance.now() - startMs) / 1000;
      await Promise.all(under);
      return { sent, failures, perSecond: Math.round(sent / seconds) };
    },
  };
}

const mastersOf = (setting: string): MasterKey[] => [...(parseMasterKeys(setting) ?? [])];

async function masterKeysInUse(): Promise<string[]> {
  const rows = await world.sql<{ id: string }[]>`
    select distinct master_key as id from executor.data_key
  `;
  return rows.map(({ id }) => id);
}

async function listDataKeys() {
  const rows = await world.sql<{ org_id: string; master_key: string; wrapped: Buffer }[]>`
    select org_id, master_key, wrapped from executor.data_key order by org_id
  `;
  return rows.map(({ org_id: orgId, master_key: masterKey, wrapped }) => ({
    orgId,
    masterKey,
    wrapped,
  }));
}

/** What each org's data key is, in hex. */
function openedBy(keys: MasterKey[], found: Awaited<ReturnType<typeof listDataKeys>>) {
  const masters = keys as [MasterKey, ...MasterKey[]];
  return found.map((each) => unwrapDataKey(masters, each).export().toString('hex'));
}

async function insertDataKeys(master: MasterKey): Promise<string[]> {
  const rows = Array.from({ length: orgs }, () => {
    const orgId = uuidv7();
    const dataKey = createSecretKey(randomBytes(32));
    const { wrapped } = wrapDataKey([master], { orgId, dataKey, masterKey: master.id });
    return { org_id: orgId, master_key: master.id, wrapped };
  });
  await world.sql`insert into executor.data_key ${world.sql(rows)}`;
  return openedBy([master], await listDataKeys());
}

/** Ends a rotation without a word when some data keys are done and others are not. */
async function killInTheMiddle(MASTER_KEY: string): Promise<void> {
  const [newest] = keyIds(MASTER_KEY);
  const child = spawn(process.execPath, ['executor/rotate.ts'], {
    env: environmentWith(MASTER_KEY),
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  for (;;) {
    const [row] = await world.sql<{ done: number }[]>`
      select count(*)::integer as done from executor.data_key where master_key = ${newest ?? ''}
    `;
    if ((row?.done ?? 0) > 0 || child.exitCode !== null) break;
    await sleep(2);
  }
  child.kill('SIGKILL');
  await ended;
}
