import { randomUUID } from 'node:crypto';

import pg from 'pg';
import { describe, expect, inject, onTestFinished, test } from 'vitest';

import { provisionDatabase, schemaOwners } from '../../provision.ts';
import type { Role, SchemaOwner } from '../../provision.ts';

const password = 'CANARY-role-password';

async function run(url: string, ...statements: readonly string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const statement of statements) ({ rows } = await client.query(statement));
    return rows;
  } finally {
    await client.end();
  }
}

/**
 * Creates a database whose owner is no superuser. The names of its roles are unique, because roles
 * belong to the whole server.
 */
async function makeDatabase(ownerOptions: string) {
  const suffix = randomUUID().slice(0, 8);
  const [owner, database] = [`owner_${suffix}`, `owned_${suffix}`];
  const roles = Object.fromEntries(
    schemaOwners.map((schema) => [schema, { user: `${schema}_${suffix}`, password }]),
  ) as Record<SchemaOwner, Role>;
  const users = Object.values(roles).map(({ user }) => user);
  const serverUrl = inject('adminUrl');
  await run(
    serverUrl,
    `create role ${owner} login password '${password}' ${ownerOptions}`,
    `create database ${database} owner ${owner}`,
  );
  onTestFinished(async () => {
    await run(
      serverUrl,
      `drop database ${database} with (force)`,
      ...[...users, owner].map((user) => `drop role if exists ${user}`),
    );
  });
  const urlOf = (user: string) => {
    const url = new URL(serverUrl);
    url.pathname = `/${database}`;
    url.username = user;
    url.password = password;
    return url.href;
  };
  return { serverUrl, database, adminUrl: urlOf(owner), roles, users, urlOf };
}

/**
 * Reads with the role of auth: the number of identities, and the schema in which the role looks for
 * names.
 */
function readAsAuth({ urlOf, roles }: Awaited<ReturnType<typeof makeDatabase>>) {
  return run(
    urlOf(roles.auth.user),
    'select (select count(*)::int from auth.identity) as identities, current_schema',
  );
}

describe('an owner of the schemas who is no superuser', () => {
  test('migrates with roles that a database administrator creates; the error says which statements create the missing roles', async () => {
    const testDatabase = await makeDatabase('nocreaterole');
    const refusal = await provisionDatabase(testDatabase).catch((error: unknown) => String(error));

    expect(refusal).toContain('may not create roles');
    const statements = String(refusal)
      .split('\n')
      .slice(1)
      .map((line) => line.replace("'…'", `'${password}'`));
    expect(statements).toHaveLength(schemaOwners.length * 4);
    await run(testDatabase.serverUrl, ...statements);
    await provisionDatabase(testDatabase);
    await provisionDatabase(testDatabase);
    expect(await readAsAuth(testDatabase)).toEqual([{ identities: 0, current_schema: 'auth' }]);
  });

  test('creates the roles itself if it has CREATEROLE', async () => {
    const testDatabase = await makeDatabase('createrole');
    await provisionDatabase(testDatabase);
    await provisionDatabase(testDatabase);

    expect(await readAsAuth(testDatabase)).toEqual([{ identities: 0, current_schema: 'auth' }]);
  });
});
