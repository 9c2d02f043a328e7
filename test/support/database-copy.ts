import { randomUUID } from 'node:crypto';

import pg from 'pg';
import { inject } from 'vitest';

import { schemaOwners } from '../../provision.ts';

export interface DatabaseCopy extends AsyncDisposable {
  /** The URL of the database for the superuser. */
  readonly adminUrl: string;
  /** The variables `<COMPONENT>_DATABASE_URL` of all components that have a database schema. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Creates a database with all migrations on the test run's Postgres. The database is dropped when
 * it is disposed.
 */
export async function copyDatabase(): Promise<DatabaseCopy> {
  const serverUrl = inject('adminUrl');
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  await administer(
    serverUrl,
    `create database ${database} template template_gateway strategy file_copy`,
  );
  const adminUrl = serverUrl.replace('/postgres?', `/${database}?`);
  const variables = schemaOwners.map((component) => {
    const url = new URL(adminUrl);
    url.username = component;
    url.password = 'CANARY-role-password';
    return [`${component.toUpperCase()}_DATABASE_URL`, url.href];
  });
  return {
    adminUrl,
    variables: Object.fromEntries(variables),
    [Symbol.asyncDispose]: () => administer(serverUrl, `drop database ${database} with (force)`),
  };
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
