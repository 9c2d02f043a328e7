/**
 * `npm run vault:rotate`: wraps every data key with the newest MASTER_KEY while the executors keep
 * running. If the environment names no database, it uses the database of the running `npm start`.
 */
import { defineConfig, loadConfig } from '#config';
import type { Environment } from '#config';
import { databaseSettings, openOwnDatabase } from '#database';
import { orExit } from '#process';
import { findRunning } from '../services-src/embedded/index.ts';
import { readMasterKeys, rotateMasterKey } from './vault/master-keys.ts';

const rotateConfig = defineConfig('executor', [...databaseSettings, 'MASTER_KEY']);
const placeConfig = defineConfig('executor', ['DATA_DIR']);

await orExit(async () => {
  const config = loadConfig(rotateConfig, await completeEnvironment(process.env));
  const masterKeys = readMasterKeys(config.MASTER_KEY);
  await using db = await openOwnDatabase(config, { schema: 'executor' });
  const count = await rotateMasterKey(db, masterKeys);
  const next =
    masterKeys.length === 1
      ? 'MASTER_KEY holds one key alone: to change it, write a new key and a comma before it.'
      : 'All but the first key of MASTER_KEY may be taken away now.';
  process.stdout.write(`Rewrapped ${count} data keys. ${next}\n`);
});

async function completeEnvironment(environment: Environment): Promise<Environment> {
  const isSettingNamed = (setting: string) =>
    Object.keys(environment).some((name) => name.replace(/^EXECUTOR_/, '').startsWith(setting));
  if (isSettingNamed('DATABASE_URL')) return environment;
  const runningGateway = await findRunning(loadConfig(placeConfig, environment).DATA_DIR);
  if (runningGateway === undefined) return environment;
  return {
    ...environment,
    DATABASE_URL: runningGateway.databaseUrl('executor'),
    ...(isSettingNamed('MASTER_KEY') ? {} : { MASTER_KEY: runningGateway.key('MASTER_KEY') }),
  };
}
