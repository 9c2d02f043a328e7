import { fileURLToPath } from 'node:url';

import { runner } from 'node-pg-migrate';
import type pg from 'pg';
import { connectOwner } from './address.ts';

/**
 * Brings one component's schema up to date with its `migrations/` folder: plain SQL, forward only.
 * All migrations run in one transaction, because a pooler keeps only the statements of a
 * transaction in one session. Several processes may migrate at once: they wait for the first.
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
  const client = await connectOwner(adminUrl, { name: 'migrate' });
  try {
    await client.query('begin');
    await client.query("set local lock_timeout = '10s'");
    await client.query('select pg_advisory_xact_lock(hashtext($1))', [`migrate ${schema}`]);
    const { rows } = await client.query('select from pg_namespace where nspname = $1', [schema]);
    if (rows.length === 0) await client.query(`create schema ${schema}`);
    await client.query(`set local search_path = ${schema}`);
    await runner({
      dbClient: withinTransaction(client),
      dir: fileURLToPath(directory),
      direction: 'up',
      migrationsSchema: schema,
      migrationsTable: 'migration',
      noLock: true,
      singleTransaction: true,
      log: () => undefined,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/**
 * The client without the runner's own `BEGIN` and `COMMIT`, about which Postgres would warn in its
 * log, because the transaction has begun before and ends afterwards.
 */
function withinTransaction(client: pg.Client): pg.Client {
  const query = (...args: Parameters<typeof client.query>) =>
    /^(BEGIN|COMMIT)$/.test(args[0]) ? Promise.resolve() : client.query(...args);
  return Object.create(client, { query: { value: query } }) as pg.Client;
}
