import { randomUUIDv7 } from 'node:crypto';

import pg from 'pg';

import { connectBus, provisionFiles } from '#bus';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { migrate } from '#database';
import type { CompiledTemplate } from '#contracts/template';
import { provisionStream } from '#events';
import { authoredDigest } from '#templates';
import { compileShippedTemplates } from './registry/shipped-templates.ts';

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

/**
 * Tells policy what the built-in templates of this release say, so that it need not believe the
 * registry. What was told at earlier releases stays, for services that were not upgraded. The first
 * time, what the registry has stored is taken as it is: nothing says yet what it should be.
 */
export async function provisionTemplates({
  adminUrl,
  ...settings
}: {
  adminUrl: string;
} & Parameters<typeof compileShippedTemplates>[0]): Promise<void> {
  const shipped = await compileShippedTemplates(settings);
  const client = new pg.Client({ connectionString: adminUrl, application_name: 'provision' });
  await client.connect();
  try {
    await client.query('begin');
    await client.query("select pg_advisory_xact_lock(hashtext('provision templates'))");
    const { rows } = await client.query('select from policy.known_template limit 1');
    if (rows.length === 0) {
      await adoptStored(client);
      await adoptAddresses(client);
    }
    for (const template of shipped) await insertKnown(client, { orgId: null, template });
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/** Every built-in version, and of those that people made what is published or in use. */
async function adoptStored(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ id: string }>(`
    select version.id
      from registry.template_version as version
     where version.tier = 'global'
        or exists (select
                     from registry.template
                    where (template.org_id, template.tier, template.owner_id, template.key)
                          = (version.org_id, version.tier, version.owner_id, version.key)
                      and template.published_version = version.version
                      and template.deleted_at is null)
        or exists (select
                     from registry.connected_service as service
                    where (service.org_id, service.template_tier, service.template_owner_id,
                           service.template_key, service.template_version)
                          = (version.org_id, version.tier, version.owner_id, version.key,
                             version.version))`);
  for (const { id } of rows) {
    const stored = await client.query<{ org_id: string | null; version: number; compiled: string }>(
      'select org_id, version, compiled from registry.template_version where id = $1',
      [id],
    );
    for (const { org_id: orgId, version, compiled } of stored.rows) {
      const template = { ...(JSON.parse(compiled) as CompiledTemplate), version };
      await insertKnown(client, { orgId, template });
    }
  }
}

/** Base URLs that admins gave for services. */
async function adoptAddresses(client: pg.Client): Promise<void> {
  await client.query(`
    insert into policy.known_address (id, org_id, base_url)
    select gen_random_uuid(), org_id, base_url
      from registry.connected_service
     where is_base_url_given
     group by org_id, base_url
        on conflict on constraint known_address_key do nothing`);
}

async function insertKnown(
  client: pg.Client,
  { orgId, template }: { orgId: string | null; template: CompiledTemplate },
): Promise<void> {
  const { tier, ownerId, key, version } = template;
  await client.query(
    `insert into policy.known_template (id, org_id, tier, owner_id, key, version, digest)
     values ($1, $2, $3, $4, $5, $6, $7)
         on conflict on constraint known_template_key do nothing`,
    [
      randomUUIDv7(),
      orgId,
      tier,
      ownerId,
      key,
      tier === 'global' ? null : version,
      authoredDigest(template),
    ],
  );
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
