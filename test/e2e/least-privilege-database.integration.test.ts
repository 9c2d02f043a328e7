import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import pg from 'pg';

import { components } from '#contracts/vocabulary';
import { createTestEnvironment } from '../support/environment.ts';
import type { TestEnvironment } from '../support/environment.ts';

const roles = components.filter((component) => component !== 'gateway');
const denied = '42501';

describe('in the database', () => {
  let environment: TestEnvironment;
  let tables: string[];
  /** Of each table one that can be written. */
  let columns: Record<string, string>;
  beforeAll(async () => {
    environment = await createTestEnvironment();
    const { rows } = await run(
      environment.adminUrl,
      `select schemaname || '.' || tablename as name from pg_tables where schemaname = any($1)`,
      [roles],
    );
    tables = rows.map(({ name }) => name);
    const { rows: writable } = await run(
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

  /** What each statement ends with: an SQLSTATE, or `done`. */
  async function attempt(role: string, statements: readonly string[]) {
    const client = new pg.Client({
      connectionString: environment.variables[`${role.toUpperCase()}_DATABASE_URL`],
    });
    await client.connect();
    const outcomes: Record<string, string> = {};
    for (const statement of statements) {
      const isAlone = /^(create database|alter system)/.test(statement);
      if (!isAlone) await client.query('begin');
      outcomes[statement] = await client.query(statement).then(
        () => 'done',
        ({ code }: { code: string }) => code,
      );
      if (!isAlone) await client.query('rollback');
    }
    await client.end();
    return outcomes;
  }
  const each = (statements: readonly string[], outcome: string) =>
    Object.fromEntries(statements.map((statement) => [statement, outcome]));

  test.for(roles.map((role) => [role]))('%s uses its own tables', async ([role = '']) => {
    const own = tables.filter(
      (name) => name.startsWith(`${role}.`) && !name.endsWith('.migration'),
    );
    expect(own.length).toBeGreaterThan(0);
    const statements = own.flatMap((table) => usesOf(table));
    const expected = each(statements, 'done');
    if (role === 'audit') {
      // Append-only by privilege (docs/reference/audit.md#the-chain).
      for (const statement of statements) {
        if (/^(update|delete)/.test(statement)) expected[statement] = denied;
      }
    }

    expect(await attempt(role, statements)).toEqual(expected);
  });

  /** `where false`: privileges are checked before any row is looked at. */
  const usesOf = (table: string) => [
    `select count(*) from ${table}`,
    `insert into ${table} overriding system value select * from ${table} where false`,
    `update ${table} set ${columns[table]} = ${columns[table]} where false`,
    `delete from ${table} where false`,
  ];
  test.for(roles.map((role) => [role]))(
    "%s cannot touch another component's tables, nor the list of migrations",
    async ([role = '']) => {
      const others = tables.filter(
        (name) => !name.startsWith(`${role}.`) || name.endsWith('.migration'),
      );
      expect(others.length).toBeGreaterThan(20);
      const statements = others.flatMap((table) => [
        `select count(*) from ${table}`,
        `delete from ${table} where false`,
        `lock table ${table}`,
        `copy ${table} to stdout`,
      ]);

      expect(await attempt(role, statements)).toEqual(each(statements, denied));
    },
  );

  test.for(roles.map((role) => [role]))(
    '%s makes and changes nothing but rows',
    async ([role = '']) => {
      const own = tables.find((name) => name.startsWith(`${role}.`)) ?? '';
      const statements = [
        'create table public.mine (id int)',
        `create table ${role}.mine (id int)`,
        'create schema mine',
        'create database mine',
        'create role mine',
        'create extension dblink',
        `create function ${role}.mine() returns int language sql as 'select 1'`,
        `alter table ${own} add column mine int`,
        `drop table ${own}`,
        `truncate ${own}`,
        `create trigger mine before insert on ${own} execute function suppress_redundant_updates_trigger()`,
        `grant select on ${own} to public`,
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
      const outcomes = await attempt(role, statements);
      // Granting what one does not own is a warning, and does nothing.
      const grant = statements.find((statement) => statement.startsWith('grant')) ?? '';

      expect({ ...outcomes, [grant]: denied }).toEqual(each(statements, denied));
      expect(['done', denied]).toContain(outcomes[grant]);
    },
  );

  test('no role is superuser, owner of anything, or member of another role', async () => {
    const { rows } = await run(
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

async function run(url: string, statement: string, values: readonly unknown[]) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(statement, values as unknown[]);
  } finally {
    await client.end();
  }
}
