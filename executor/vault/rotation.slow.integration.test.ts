import { execFile, spawn } from 'node:child_process';
import { createSecretKey, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { v7 as uuidv7 } from 'uuid';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ConfigError, loadConfig } from '#config';
import type { RunningComponent } from '#process';
import { programEnv } from '../../test/support/program-env.ts';
import { executorConfig } from '../config.ts';
import { parseMasterKeys } from './domain/sealing.ts';
import type { MasterKey } from './domain/sealing.ts';
import { startExecutor } from '../start.ts';
import { unwrapDataKey, wrapDataKey } from './master-keys.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

/** The size of the test. `npm run test:vault` sets higher values. */
const callsPerSecond = Number(process.env['VAULT_CALLS_PER_SECOND'] ?? 100);
const phaseMs = Number(process.env['VAULT_PHASE_MS'] ?? 300);
const killsCount = Number(process.env['VAULT_KILLS'] ?? 3);
const orgCount = Number(process.env['VAULT_ORGS'] ?? 1_500);

let world: World;
let oldMasterKey: string;
beforeEach(async () => {
  world = await createWorld();
  oldMasterKey = world.variables['MASTER_KEY'] ?? '';
});
afterEach(() => world[Symbol.asyncDispose]());

const createMasterKey = () => randomBytes(32).toString('base64url');
const startWithKeys = (MASTER_KEY: string) =>
  startExecutor(loadConfig(executorConfig, { ...world.variables, MASTER_KEY }));
const environmentWith = (MASTER_KEY: string) => ({
  ...programEnv,
  ...world.variables,
  MASTER_KEY,
});
/**
 * Runs `npm run vault:rotate` as an operator does. Returns the number of rewrapped data keys that
 * the command reports.
 */
async function runRotation(MASTER_KEY: string): Promise<number> {
  const env = environmentWith(MASTER_KEY);
  const { stdout } = await promisify(execFile)(process.execPath, ['executor/rotate.ts'], { env });
  return Number(/^Rewrapped (\d+) data keys/.exec(stdout)?.[1] ?? Number.NaN);
}
const keyIdsOf = (text: string) => (parseMasterKeys(text) ?? []).map(({ id }) => id);

/** Stores a secret in a new org, and returns a function that makes a call with this secret. */
async function storeAndUse(orgId: string) {
  const principal = world.principalOf({ role: 'admin', orgId });
  const body = { name: 'rotating', value: canary(), allowed_hosts: [world.upstream.host] };
  const { id } = await world.gateway.createSecret({ principal, body }, testDeadline());
  const call = world.actionCall('get', { id: '1' });
  const secrets = [{ id, name: 'rotating' }];
  return async () => {
    const permit = world.permitOf(call, { orgId, secrets });
    const { kind } = await world.gateway.execute(
      { permit, call, options, context },
      testDeadline(),
    );
    if (kind !== 'called') throw new Error(kind);
  };
}

describe('a new master key', { timeout: 240_000 }, () => {
  test('can be given to running executors one after the other without a failing call', async () => {
    const newMasterKey = createMasterKey();
    const callsWithSecrets = await Promise.all(
      Array.from({ length: 10 }, () => storeAndUse(uuidv7())),
    );
    const replicas: RunningComponent[] = [
      await startWithKeys(oldMasterKey),
      await startWithKeys(oldMasterKey),
    ];
    await world.stopExecutor();
    const replaceReplicas = async (MASTER_KEY: string) => {
      for (const [at, running] of replicas.entries()) {
        replicas[at] = await startWithKeys(MASTER_KEY);
        await running[Symbol.asyncDispose]();
        await sleep(phaseMs);
      }
    };

    const callLoad = startLoad(async (at) => {
      const callWithSecret = callsWithSecrets[at % callsWithSecrets.length];
      await callWithSecret?.();
      // Every 25th call is preceded by a new org, whose first secret needs a new data key.
      if (at % 25 === 0) callsWithSecrets.push(await storeAndUse(uuidv7()));
    });
    await sleep(phaseMs);
    await replaceReplicas(`${newMasterKey},${oldMasterKey}`);
    expect(await findMasterKeysInUse()).toEqual(keyIdsOf(oldMasterKey));
    const rewrapped = await Promise.all([
      runRotation(`${newMasterKey},${oldMasterKey}`),
      runRotation(`${newMasterKey},${oldMasterKey}`),
    ]);
    expect(Math.max(...rewrapped)).toBeGreaterThan(0);
    expect(await findMasterKeysInUse()).toEqual(keyIdsOf(newMasterKey));
    await sleep(phaseMs);
    await replaceReplicas(newMasterKey);
    const { sent, failures, perSecond } = await callLoad.stop();

    expect(failures).toEqual([]);
    expect(sent).toBeGreaterThan(50);
    if (process.env['VAULT_CALLS_PER_SECOND'] !== undefined) {
      process.stdout.write(`${sent} calls, ${perSecond} a second, none failed\n`);
    }
    for (const callWithSecret of callsWithSecrets) await callWithSecret();
    for (const running of replicas) await running[Symbol.asyncDispose]();
    await expect(startWithKeys(oldMasterKey)).rejects.toBeInstanceOf(ConfigError);
  });

  test('replaces the old one after any number of killed rotations, and then older keys can open nothing', async () => {
    const callWithSecret = await storeAndUse(uuidv7());
    let keys: MasterKey[] = masterKeysOf(oldMasterKey);
    const dataKeys = await insertDataKeys(keys[0]!);
    let setting = oldMasterKey;
    for (let round = 0; round < killsCount; round += 1) {
      setting = `${createMasterKey()},${setting}`;
      keys = masterKeysOf(setting);
      await killRotationMidway(setting);
      const foundKeys = await listDataKeys();
      expect(new Set(foundKeys.map(({ masterKey }) => masterKey)).size).toBeGreaterThan(1);
      expect(openDataKeys(keys, foundKeys)).toEqual(dataKeys);
      await expect(startWithKeys(setting.split(',')[0] ?? '')).rejects.toThrow(
        /every one still in use/,
      );
    }
    expect(await runRotation(setting)).toBeGreaterThan(0);
    expect(await runRotation(setting)).toBe(0);

    const [newest, ...before] = keys;
    const foundKeys = await listDataKeys();
    expect(openDataKeys([newest!], foundKeys)).toEqual(dataKeys);
    // An executor with only the old master key does not start either.
    for (const { id: _, ...key } of before) {
      for (const each of foundKeys.slice(0, 50)) {
        const named = [{ ...key, id: each.masterKey }] as const;
        expect(() => unwrapDataKey(named, each)).toThrow();
      }
    }
    await world.stopExecutor();
    await using _running = await startWithKeys(setting.split(',')[0] ?? '');
    await callWithSecret();
  });
});

/** Starts calls at a steady rate until it is stopped, without waiting for earlier calls to end. */
function startLoad(call: (at: number) => Promise<void>) {
  const failures: string[] = [];
  const callsUnderWay = new Set<Promise<void>>();
  const startMs = performance.now();
  let sentCount = 0;
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startMs) / 1000) * callsPerSecond);
    // On a busy machine some calls are skipped. With more calls under way the executor could run
    // out of slots, which is not what this test is about.
    for (; sentCount < due && callsUnderWay.size < 48; sentCount += 1) {
      const work = call(sentCount)
        .catch((error: unknown) => void failures.push(String(error)))
        .finally(() => callsUnderWay.delete(work));
      callsUnderWay.add(work);
    }
  }, 5);
  return {
    async stop() {
      clearInterval(timer);
      const seconds = (performance.now() - startMs) / 1000;
      await Promise.all(callsUnderWay);
      return { sent: sentCount, failures, perSecond: Math.round(sentCount / seconds) };
    },
  };
}

const masterKeysOf = (setting: string): MasterKey[] => [...(parseMasterKeys(setting) ?? [])];

async function findMasterKeysInUse(): Promise<string[]> {
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

/** Opens each org's data key with these master keys, and returns it in hex. */
function openDataKeys(keys: MasterKey[], dataKeys: Awaited<ReturnType<typeof listDataKeys>>) {
  const masterKeys = keys as [MasterKey, ...MasterKey[]];
  return dataKeys.map((each) => unwrapDataKey(masterKeys, each).export().toString('hex'));
}

async function insertDataKeys(master: MasterKey): Promise<string[]> {
  const rows = Array.from({ length: orgCount }, () => {
    const orgId = uuidv7();
    const dataKey = createSecretKey(randomBytes(32));
    const { wrapped } = wrapDataKey([master], { orgId, dataKey, masterKey: master.id });
    return { org_id: orgId, master_key: master.id, wrapped };
  });
  await world.sql`insert into executor.data_key ${world.sql(rows)}`;
  return openDataKeys([master], await listDataKeys());
}

/** Starts a rotation and kills it after it has rewrapped some of the data keys. */
async function killRotationMidway(MASTER_KEY: string): Promise<void> {
  const [newest] = keyIdsOf(MASTER_KEY);
  const child = spawn(process.execPath, ['executor/rotate.ts'], {
    env: environmentWith(MASTER_KEY),
    stdio: 'ignore',
  });
  const processEnd = new Promise((resolve) => child.once('exit', resolve));
  for (;;) {
    const [row] = await world.sql<{ done: number }[]>`
      select count(*)::integer as done from executor.data_key where master_key = ${newest ?? ''}
    `;
    if ((row?.done ?? 0) > 0 || child.exitCode !== null) break;
    await sleep(2);
  }
  child.kill('SIGKILL');
  await processEnd;
}
