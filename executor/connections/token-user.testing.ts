/**
 * A program that gets the token of a connection many times concurrently, and prints each result.
 */
import { deadlineIn } from '#bus';
import { loadConfig } from '#config';
import { openDatabase } from '#database';
import { openEgress, parseEgressAllow } from '#egress';
import { createLogger } from '#telemetry';
import { executorConfig } from '../config.ts';
import { readMasterKeys } from '../vault/master-keys.ts';
import { openVault } from '../vault/vault.ts';
import { openConnections } from './open-connections.ts';

const [orgId = '', connectionId = '', times = '1'] = process.argv.slice(2);
const config = loadConfig(executorConfig, process.env);
await using db = openDatabase({
  url: config.DATABASE_URL,
  schema: 'executor',
  connectionsMax: config.DATABASE_CONNECTIONS_MAX,
});
await using egress = openEgress({ allow: parseEgressAllow(config.EGRESS_ALLOW) });
const logger = createLogger({ component: 'executor', level: 'silent' });
const { openAccessToken } = openConnections({
  db,
  egress,
  vault: await openVault({ db, masterKeys: readMasterKeys(config.MASTER_KEY), logger }),
  logger,
  baseUrl: 'http://127.0.0.1:8080',
  ofEnvironment: new Map(),
});

process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
const results = await Promise.all(
  Array.from({ length: Number(times) }, async () => {
    try {
      return (await openAccessToken({ orgId, connectionId }, deadlineIn(60_000))).reveal();
    } catch (error) {
      return (error as { code?: string }).code;
    }
  }),
);
process.stdout.write(`${JSON.stringify(results)}\n`);
process.stdin.destroy();
