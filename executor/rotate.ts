/** `npm run vault:rotate`: puts every data key under the newest MASTER_KEY, while the executors go on serving. */
import { defineConfig, loadConfig } from '#config';
import { openDatabase } from '#database';
import { orExit } from '#process';
import { readMasterKeys, rotateMasterKey } from './vault/master-keys.ts';

const rotateConfig = defineConfig('executor', ['DATABASE_URL', 'MASTER_KEY']);

await orExit(async () => {
  const config = loadConfig(rotateConfig, process.env);
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
