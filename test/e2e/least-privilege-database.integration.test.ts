import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import pg from 'pg';

import { components } from '#contracts/vocabulary';
import { createTestEnvironment } from '../support/environment.ts';
import type { TestEnvironment } from '../support/environment.ts';

const roles = components.filter((component) => component !== 'gateway');
const permissionDenied = '42501';

describe('the database', () => {
  let environment: TestEnvironment;
  let tables: string[];
  /** For each table, the name of one column that can be written. */
  let columns: Record<string, string>;
  beforeAll(async () => {
    environment = await createTestEnvironment();
    const { rows } = await runStatement(
      environment.adminUrl,
      `select schemaname || '.' || tablename as name from pg_tables where schemaname = any($1)`,
      [roles],
    );
    tables = rows.map(({ name }) => name);
    const { rows: writable } = await runStatement(
      environment.adminUrl,
      `select distinct on (1) table_schema || '.' || table_name as name, column_name as column
         from information_schema.columns
        where table_schema = any($1) and is_identity = 'NO' and is_generated = 'NEVER'
        order by 1, ordinal_position`,
      [roles],
    );
    columns = Object.fromEntries(writable.map(({ name, column }) => [name, column]));
  });
  afterAll(() => environment[Symbol.asyncDispose]());

  /**
   * Runs each statement as the role. Returns `done` or Postgres's error code (SQLSTATE) for each
   * statement.
   */
  async function attemptStatements(role: string, statements: readonly string[]) {
    const client = new pg.Client({
      connectionString: environment.variables[`${role.toUpperCase()}_DATABASE_URL`],
    });
    await client.connect();
    const outcomes: Record<string, string> = {};
    for (const statement of statements) {
      const isOutsideTransaction = /^(create database|alter system)/.test(statement);
      if (!isOutsideTransaction) await client.query('begin');
      outcomes[statement] = await client.query(statement).then(
        () => 'done',
        ({ code }: { code: string }) => code,
      );
      if (!isOutsideTransaction) await client.query('rollback');
    }
    await client.end();
    return outcomes;
  }
  const outcomeOfEach = (statements: readonly string[], outcome: string) =>
    Object.fromEntries(statements.map((statement) => [statement, outcome]));

  test.for(roles.map((role) => [role]))(
    'the role %s can use its own tables',
    async ([role = '']) => {
      const ownTables = tables.filter(
        (name) => name.startsWith(`${role}.`) && !name.endsWith('.migration'),
      );
      expect(ownTables.length).toBeGreaterThan(0);
      const statements = ownTables.flatMap((table) => statementsUsing(table));
      const expected = outcomeOfEach(statements, 'done');
      if (role === 'audit') {
        // The audit log is append-only because its role lacks the privileges to update and delete
        // (docs/reference/audit.md#the-chain).
        for (const statement of statements) {
          if (/^(update|delete)/.test(statement)) expected[statement] = permissionDenied;
        }
      }

      expect(await attemptStatements(role, statements)).toEqual(expected);
    },
  );

  /** Postgres checks privileges before it looks at any row, so `where false` is enough. */
  const statementsUsing = (table: string) => [
    `select count(*) from ${table}`,
    `insert into ${table} overriding system value select * from ${table} where false`,
    `update ${table} set ${columns[table]} = ${columns[table]} where false`,
    `delete from ${table} where false`,
  ];
  test.for(roles.map((role) => [role]))(
    "the role %s can use neither another component's tables nor the list of migrations",
    async ([role = '']) => {
      const otherTables = tables.filter(
        (name) => !name.startsWith(`${role}.`) || name.endsWith('.migration'),
      );
      expect(otherTables.length).toBeGreaterThan(20);
      const statements = otherTables.flatMap((table) => [
        `select count(*) from ${table}`,
        `delete from ${table} where false`,
        `lock table ${table}`,
        `copy ${table} to stdout`,
      ]);

      expect(await attemptStatements(role, statements)).toEqual(
        outcomeOfEach(statements, permissionDenied),
      );
    },
  );

  test.for(roles.map((role) => [role]))(
    'the role %s can change rows, but no schema',
    async ([role = '']) => {
      const ownTables = tables.find((name) => name.startsWith(`${role}.`)) ?? '';
      const statements = [
        'create table public.mine (id int)',
        `create table ${role}.mine (id int)`,
        'create schema mine',
        'create database mine',
        'create role mine',
        'create extension dblink',
        `create function ${role}.mine() returns int language sql as 'select 1'`,
        `alter table ${ownTables} add column mine int`,
        `drop table ${ownTables}`,
        `truncate ${ownTables}`,
        `create trigger mine before insert on ${ownTables} execute function suppress_redundant_updates_trigger()`,
        `grant select on ${ownTables} to public`,
        'set role postgres',
        'set session authorization postgres',
        `alter role ${role} superuser`,
        'alter system set fsync = off',
        `copy (select 1) to program 'true'`,
        `copy (select 1) to '/tmp/out'`,
        `select pg_read_file('/etc/hostname')`,
        `select pg_ls_dir('.')`,
        `select lo_import('/etc/hostname')`,
        'select rolpassword from pg_authid',
        'set session_replication_role = replica',
      ];
      const outcomes = await attemptStatements(role, statements);
      // Postgres does not refuse a grant by a role that does not own the table: it warns and grants
      // nothing.
      const grantStatement = statements.find((statement) => statement.startsWith('grant')) ?? '';

      expect({ ...outcomes, [grantStatement]: permissionDenied }).toEqual(
        outcomeOfEach(statements, permissionDenied),
      );
      expect(['done', permissionDenied]).toContain(outcomes[grantStatement]);
    },
  );

  test('no component’s role is a superuser, an owner, or a member of another role', async () => {
    const { rows } = await runStatement(
      environment.adminUrl,
      `select rolname, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication,
              (select count(*)::int from pg_auth_members where member = r.oid) as memberships,
              (select count(*)::int from pg_class where relowner = r.oid) as owned
         from pg_roles r where rolname = any($1) order by 1`,
      [roles],
    );

    expect(rows).toEqual(
      roles.toSorted().map((rolname) => ({
        rolname,
        rolsuper: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolbypassrls: false,
        rolreplication: false,
        memberships: 0,
        owned: 0,
      })),
    );
  });
});

async function runStatement(url: string, statement: string, values: readonly unknown[]) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(statement, values as unknown[]);
  } finally {
    await client.end();
  }
}
