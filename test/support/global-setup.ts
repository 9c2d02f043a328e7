import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';
import { pino } from 'pino';
import type { TestProject } from 'vitest/node';

import { provisionDatabase, schemaOwners } from '../../provision.ts';
import { startPostgres } from '../../services-src/embedded/index.ts';
import { refuseLeaks, sweepFolder } from './canaries.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The superuser's URL of the run's Postgres. Its database `template_gateway` has all
     * migrations.
     */
    adminUrl: string;
    /** The folder to which components write their logs. */
    logDir: string;
    /** The folder of the write-ahead log of the run's Postgres. */
    walDir: string;
  }
}

/**
 * Starts one Postgres for the whole run. Each test file copies its database from a migrated
 * database.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using startup = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-test-'));
  startup.defer(() => rm(dataDir, { recursive: true, force: true }));
  const [logDir, walDir] = [join(dataDir, 'logs'), join(dataDir, 'postgres/data/pg_wal')];
  await mkdir(logDir);
  // After Postgres has stopped, searches the remaining log files and the rest of the write-ahead
  // log for credentials. Each test environment has already searched its tables, its streams and its
  // part of the write-ahead log.
  startup.defer(async () =>
    refuseLeaks([...(await sweepFolder(logDir)), ...(await sweepFolder(walDir))]),
  );
  const logger = pino({ level: 'error' });
  const postgres = startup.use(
    await startPostgres({ dataDir, logger, durable: false, maxConnections: 400 }),
  );

  const client = new pg.Client({ connectionString: postgres.adminUrl });
  await client.connect();
  await client.query('create database template_gateway');
  await client.end();
  await provisionDatabase({
    adminUrl: postgres.adminUrl.replace('/postgres?', '/template_gateway?'),
    // A role belongs to the whole Postgres server, so its password is the same in all databases of
    // the run.
    roles: Object.fromEntries(
      schemaOwners.map((user) => [user, { user, password: 'CANARY-role-password' }]),
    ),
  });

  project.provide('adminUrl', postgres.adminUrl);
  project.provide('logDir', logDir);
  project.provide('walDir', walDir);
  const running = startup.move();
  return () => running.disposeAsync();
}
