/**
 * `npm run vault:rotate`: puts every data key under the newest MASTER_KEY, while the executors go
 * on serving. Where the environment names no database, it is that of the `npm start` which runs.
 */
import { defineConfig, loadConfig } from '#config';
import type { Environment } from '#config';
import { openDatabase } from '#database';
import { orExit } from '#process';
import { findRunning } from '../services-src/embedded/index.ts';
import { readMasterKeys, rotateMasterKey } from './vault/master-keys.ts';

const rotateConfig = defineConfig('executor', ['DATABASE_URL', 'MASTER_KEY']);
const placeConfig = defineConfig('executor', ['DATA_DIR']);

await orExit(async () => {
  const config = loadConfig(rotateConfig, await completed(process.env));
  const masterKeys = readMasterKeys(config.MASTER_KEY);
  await using db = openDatabase({
    url: config.DATABASE_URL,
    schema: 'executor',
    connectionsMax: 1,
  });
  const count = await rotateMasterKey(db, masterKeys);
  process.stdout.write(
    `Rewrapped ${count} data keys. All but the first key of MASTER_KEY may be taken away now.\n`,
  );
});

async function completed(environment: Environment): Promise<Environment> {
  const names = (setting: string) =>
    Object.keys(environment).some((name) => name.replace(/^EXECUTOR_/, '').startsWith(setting));
  if (names('DATABASE_URL')) return environment;
  const running = await findRunning(loadConfig(placeConfig, environment).DATA_DIR);
  if (running === undefined) return environment;
  return {
    ...environment,
    DATABASE_URL: running.databaseUrl('executor'),
    ...(names('MASTER_KEY') ? {} : { MASTER_KEY: running.key('MASTER_KEY') }),
  };
}
