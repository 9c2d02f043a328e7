import { fileURLToPath } from 'node:url';

import { runner } from 'node-pg-migrate';
import pg from 'pg';

/**
 * Brings one component's schema up to date with its `migrations/` folder: plain SQL, forward only,
 * all in one transaction. Several processes may migrate at once: they wait for the first.
 */
export async function migrate({
  adminUrl,
  schema,
  directory,
}: {
  /** The URL with which the role that owns the schemas logs in. */
  adminUrl: string;
  schema: string;
  directory: URL;
}): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'migrate' });
  await client.connect();
  try {
    await client.query("set lock_timeout = '10s'");
    await client.query('select pg_advisory_lock(hashtext($1))', [`migrate ${schema}`]);
    await runner({
      dbClient: client,
      dir: fileURLToPath(directory),
      direction: 'up',
      schema,
      createSchema: true,
      migrationsSchema: schema,
      migrationsTable: 'migration',
      noLock: true,
      singleTransaction: true,
      log: () => undefined,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
    await client.query('select pg_advisory_unlock(hashtext($1))', [`migrate ${schema}`]);
  } finally {
    await client.end();
  }
}
