import pg from 'pg';

import { connectBus, provisionFiles } from '#bus';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { migrate } from '#database';
import { provisionStream } from '#events';

/** Components that own a schema; the gateway is stateless. */
export const schemaOwners = components.filter((component) => component !== 'gateway');
export type SchemaOwner = Exclude<Component, 'gateway'>;

export interface Role {
  readonly user: string;
  readonly password: string;
}

/** Append-only by privilege: audit may not change or delete what it wrote. */
const privileges: Record<SchemaOwner, string> = {
  auth: 'select, insert, update, delete',
  registry: 'select, insert, update, delete',
  policy: 'select, insert, update, delete',
  executor: 'select, insert, update, delete',
  approvals: 'select, insert, update, delete',
  notifier: 'select, insert, update, delete',
  audit: 'select, insert',
};

/**
 * Migrates every schema, and gives each component's role the use of its own schema and of
 * nothing else. Safe to run at every start, and by many at once.
 */
export async function provisionDatabase({
  adminUrl,
  roles,
}: {
  /** The role that owns the schemas. */
  adminUrl: string;
  /** Without an entry a component is expected to connect as the owner. */
  roles: Partial<Record<SchemaOwner, Role>>;
}): Promise<void> {
  for (const schema of schemaOwners) {
    await migrate({
      adminUrl,
      schema,
      directory: new URL(`./${schema}/migrations/`, import.meta.url),
    });
  }
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'provision' });
  await client.connect();
  try {
    await client.query('begin');
    // Roles are shared by all databases of a server: two provisioners must not make one twice.
    await client.query("select pg_advisory_xact_lock(hashtext('provision roles'))");
    for (const schema of schemaOwners) {
      const role = roles[schema];
      if (role !== undefined) await grant(client, schema, role);
    }
    await client.query('commit');
  } finally {
    await client.end();
  }
}

async function grant(client: pg.Client, schema: SchemaOwner, role: Role): Promise<void> {
  const user = client.escapeIdentifier(role.user);
  const password = client.escapeLiteral(role.password);
  const { rows } = await client.query('select from pg_roles where rolname = $1', [role.user]);
  const verb = rows.length === 0 ? 'create' : 'alter';
  await client.query(`${verb} role ${user} login password ${password}`);
  await client.query(`grant usage on schema ${schema} to ${user}`);
  await client.query(`grant ${privileges[schema]} on all tables in schema ${schema} to ${user}`);
  await client.query(`revoke all on table ${schema}.migration from ${user}`);
  await client.query(`grant usage on all sequences in schema ${schema} to ${user}`);
}

/** Creates the event stream with its durable consumers and the bucket of files, as the NATS user `provision`. */
export async function provisionBus({
  natsUrl,
  replicas,
  filesBytesMax,
}: {
  natsUrl: string;
  replicas: number;
  filesBytesMax: number;
}): Promise<void> {
  await using bus = await connectBus({ url: natsUrl, name: 'provision' });
  await provisionStream(bus, { replicas });
  await provisionFiles(bus, { replicas, bytesMax: filesBytesMax });
}
