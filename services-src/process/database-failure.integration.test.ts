import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { openDatabase } from '#database';
import { createTestEnvironment } from '../../test/support/environment.ts';
import type { TestEnvironment } from '../../test/support/environment.ts';
import { describeDatabaseFailure } from './database-failure.ts';

/**
 * Each failure is tested with both Postgres drivers: components use the fork of one, and migrate
 * uses the other.
 */
describe('the message of a start that fails because of Postgres', () => {
  let environment: TestEnvironment;
  beforeAll(async () => {
    environment = await createTestEnvironment();
  });
  afterAll(() => environment[Symbol.asyncDispose]());

  const failuresAt = async (url: string, statement: string): Promise<unknown[]> => {
    await using db = openDatabase({ url, schema: 'executor', connectionsMax: 1 });
    const componentFailure: unknown = await db.unsafe(statement).catch((error: unknown) => error);
    const client = new pg.Client({ connectionString: url });
    const migrateFailure: unknown = await client
      .connect()
      .then(() => client.query(statement))
      .catch((error: unknown) => error);
    await client.end().catch(() => undefined);
    return [componentFailure, migrateFailure];
  };
  const urlWith = (change: (url: URL) => void) => {
    const url = new URL(environment.adminUrl);
    change(url);
    return url.href;
  };

  test.each([
    [
      'a role that migrate has not made',
      () =>
        urlWith((url) => {
          url.username = 'nobody';
          url.password = 'CANARY-nobody';
        }),
      'select 1',
      /nobody.*Run migrate first, which makes the roles, or correct/,
    ],
    [
      'a database that is missing',
      () =>
        urlWith((url) => {
          url.pathname = '/elsewhere';
        }),
      'select 1',
      /"elsewhere" does not exist\. Create the database, or correct DATABASE_URL\.$/,
    ],
    [
      'a table that migrate has not made',
      () => environment.adminUrl,
      'select from later_table',
      /"later_table" does not exist\. Run migrate of this release first\.$/,
    ],
    [
      'a column that migrate has not made',
      () => environment.adminUrl,
      'select later_column from pg_class',
      /"later_column" does not exist\. Run migrate of this release first\.$/,
    ],
    [
      'no server at all',
      createClosedUrl,
      'select 1',
      /^Postgres cannot be reached: connect ECONNREFUSED .*Start it first, or correct DATABASE_URL\.$/,
    ],
  ])('tells the operator what to do about %s', async (_, urlOf, statement, sentence) => {
    for (const failure of await failuresAt(await urlOf(), statement)) {
      expect(describeDatabaseFailure(failure)).toMatch(sentence);
    }
  });

  test('does not replace the stack of any other failure', async () => {
    for (const failure of await failuresAt(environment.adminUrl, 'select 1/0')) {
      expect(failure).toBeInstanceOf(Error);
      expect(describeDatabaseFailure(failure)).toBeUndefined();
    }
    expect(describeDatabaseFailure('a text')).toBeUndefined();
  });
});

/** The URL of a Postgres on a port at which nothing listens. */
async function createClosedUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return `postgres://executor@127.0.0.1:${port}/gateway`;
}
