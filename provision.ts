import { randomUUIDv7 } from 'node:crypto';

import { JetStreamApiError, RetentionPolicy, jetstreamManager } from '@nats-io/jetstream';
import type pg from 'pg';

import { connectBus, provisionFiles } from '#bus';
import type { Bus } from '#bus';
import { ConfigError } from '#config';
import { auditStream, eventsStream } from '#contracts/events';
import { filesStream } from '#contracts/files';
import { components } from '#contracts/vocabulary';
import type { Component } from '#contracts/vocabulary';
import { connectOwner, migrate, storeSettingsStatements } from '#database';
import type { CompiledTemplate } from '#contracts/template';
import { provisionStreams } from '#events';
import type { StreamSettings } from '#events';
import { authoredDigest } from '#templates';
import { compileShippedTemplates } from './registry/templates/shipped-templates.ts';

/** The components that own a database schema. The gateway has none. */
export const schemaOwners = components.filter((component) => component !== 'gateway');
export type SchemaOwner = Exclude<Component, 'gateway'>;

export interface Role {
  readonly user: string;
  readonly password: string;
}

/**
 * What each component's database role may do with its tables. The role of audit may not change or
 * delete rows.
 */
const privileges: Record<SchemaOwner, string> = {
  auth: 'select, insert, update, delete',
  registry: 'select, insert, update, delete',
  policy: 'select, insert, update, delete',
  executor: 'select, insert, update, delete',
  approvals: 'select, insert, update, delete',
  notifier: 'select, insert, update, delete',
  audit: 'select, insert',
};

const permissionDenied = '42501';

/**
 * Migrates every schema, and lets each component's role use only the component's own schema. This
 * may run at every start, and several times at once.
 */
export async function provisionDatabase({
  adminUrl,
  roles,
}: {
  /** The URL for the role that owns the schemas. */
  adminUrl: string;
  /**
   * The roles of the components. A component without a role connects as the owner of the schemas.
   */
  roles: Partial<Record<SchemaOwner, Role>>;
}): Promise<void> {
  for (const schema of schemaOwners) {
    await migrate({
      adminUrl,
      schema,
      directory: new URL(`./${schema}/migrations/`, import.meta.url),
    });
  }
  const client = await connectOwner(adminUrl, { name: 'provision' });
  try {
    await client.query('begin');
    // Roles belong to the whole Postgres server. Without this lock, two migrations could try to
    // create the same role.
    await client.query("select pg_advisory_xact_lock(hashtext('provision roles'))");
    const given = schemaOwners.flatMap((schema) => {
      const role = roles[schema];
      return role === undefined ? [] : [{ schema, role }];
    });
    const missing: string[] = [];
    for (const { schema, role } of given) missing.push(...(await makeRole(client, schema, role)));
    if (missing.length > 0) {
      throw new ConfigError(
        'The owner of the schemas may not create roles. Let a database administrator run these ' +
          `statements with the passwords of the URLs, then run migrate again:\n${missing.join(';\n')};`,
      );
    }
    for (const { schema, role } of given) await grantTables(client, schema, role);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/**
 * Creates the role of a component. An existing role gets its password and settings again, if the
 * owner of the schemas may change it; otherwise it stays as a database administrator made it. If
 * the role does not exist and the owner may not create it, the function returns the statements that
 * an administrator has to run.
 */
async function makeRole(client: pg.Client, schema: SchemaOwner, role: Role): Promise<string[]> {
  const user = client.escapeIdentifier(role.user);
  const { rows } = await client.query<{ database: string; has_role: boolean }>(
    `select quote_ident(current_database()) as database,
            exists (select from pg_roles where rolname = $1) as has_role`,
    [role.user],
  );
  const [{ database, has_role: hasRole } = { database: '', has_role: false }] = rows;
  const makeStatement = `${hasRole ? 'alter' : 'create'} role ${user} login password`;
  const storeStatements = storeSettingsStatements({ role: user, database, schema });
  await client.query('savepoint before_role');
  try {
    await client.query(`${makeStatement} ${client.escapeLiteral(role.password)}`);
    for (const statement of storeStatements) await client.query(statement);
    return [];
  } catch (error) {
    if ((error as { code?: unknown }).code !== permissionDenied) throw error;
    await client.query('rollback to savepoint before_role');
    return hasRole ? [] : [`${makeStatement} '…'`, ...storeStatements];
  }
}

async function grantTables(client: pg.Client, schema: SchemaOwner, role: Role): Promise<void> {
  const user = client.escapeIdentifier(role.user);
  await client.query(`grant usage on schema ${schema} to ${user}`);
  await client.query(`grant ${privileges[schema]} on all tables in schema ${schema} to ${user}`);
  await client.query(`revoke all on table ${schema}.migration from ${user}`);
  await client.query(`grant usage on all sequences in schema ${schema} to ${user}`);
}

/**
 * Records the digests of this release's built-in templates for policy, so that policy need not
 * trust the registry. Records of earlier releases are kept for services that were not upgraded. The
 * first run also records the templates that the registry has already stored, because there are no
 * digests yet to compare them with.
 */
export async function provisionTemplates({
  adminUrl,
  ...settings
}: {
  adminUrl: string;
} & Parameters<typeof compileShippedTemplates>[0]): Promise<void> {
  const shippedTemplates = await compileShippedTemplates(settings);
  const client = await connectOwner(adminUrl, { name: 'provision' });
  try {
    await client.query('begin');
    await client.query("select pg_advisory_xact_lock(hashtext('provision templates'))");
    const { rows } = await client.query('select from policy.known_template limit 1');
    if (rows.length === 0) {
      await adoptStoredTemplates(client);
      await adoptAddresses(client);
    }
    for (const template of shippedTemplates) await insertKnown(client, { orgId: null, template });
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/**
 * Records every stored version of built-in templates, and the versions of people's own templates
 * that are published or in use.
 */
async function adoptStoredTemplates(client: pg.Client): Promise<void> {
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
    const storedRows = await client.query<{
      org_id: string | null;
      version: number;
      compiled: string;
    }>('select org_id, version, compiled from registry.template_version where id = $1', [id]);
    for (const { org_id: orgId, version, compiled } of storedRows.rows) {
      const template = { ...(JSON.parse(compiled) as CompiledTemplate), version };
      await insertKnown(client, { orgId, template });
    }
  }
}

/** Records the base URLs that admins have set for services. */
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

/**
 * Creates the streams, their durable consumers and the bucket of files. It connects to NATS as the
 * user `provision`.
 */
export async function provisionBus({
  natsUrl,
  caFile,
  filesBytesMax,
  ...settings
}: {
  natsUrl: string;
  caFile?: string | undefined;
  filesBytesMax: number;
} & StreamSettings): Promise<void> {
  await using bus = await connectBus({ url: natsUrl, caFile, name: 'provision' });
  try {
    await provisionStreams(bus, settings);
    await provisionFiles(bus, { replicas: settings.replicas, bytesMax: filesBytesMax });
  } catch (error) {
    if (!isOutOfRoom(error)) throw error;
    throw new ConfigError(await describeRoom(bus, { ...settings, filesBytesMax }));
  }
}

/**
 * JetStream answers with these error codes when its streams would together be larger than
 * `max_file_store`. The first code comes from a single server. The second comes from a cluster,
 * which uses it for other errors too.
 */
const insufficientStorage = 10047;
const noPeers = 10005;

function isOutOfRoom(error: unknown): boolean {
  if (!(error instanceof JetStreamApiError)) return false;
  if (error.code === insufficientStorage) return true;
  return error.code === noPeers && error.message.includes('insufficient storage');
}

/** Describes how much room the streams need. NATS does not report how much room it has. */
async function describeRoom(
  bus: Bus,
  {
    auditBytesMax,
    eventsBytesMax,
    filesBytesMax,
  }: Pick<StreamSettings, 'auditBytesMax' | 'eventsBytesMax'> & { filesBytesMax: number },
): Promise<string> {
  const sizes = {
    AUDIT_BYTES_MAX: auditBytesMax,
    EVENTS_BYTES_MAX: eventsBytesMax,
    CAP_FILES_BYTES: filesBytesMax,
  };
  const neededBytes = auditBytesMax + eventsBytesMax + filesBytesMax;
  const otherBytes = await countOtherBytes(bus);
  const besideText = otherBytes === 0 ? '' : `, beside the ${otherBytes} bytes of other streams`;
  return (
    `NATS has no room for its streams: ${Object.entries(sizes)
      .map(([name, bytes]) => `${name}=${bytes}`)
      .join(' + ')} is ${neededBytes} bytes${besideText}. ` +
    `Set max_file_store of each NATS server to ${neededBytes + otherBytes} bytes or more, on a disk that has ` +
    'them, or lower these settings by what is missing there. Then run migrate again.'
  );
}

/**
 * The bytes that all other streams may take. The single stream of an earlier version counts as
 * another stream while its records are moved.
 */
async function countOtherBytes({ nats }: Bus): Promise<number> {
  const ownStreams: readonly string[] = [auditStream, eventsStream, filesStream];
  const { streams } = await jetstreamManager(nats);
  let bytes = 0;
  for await (const { config } of streams.list()) {
    const isMoved = config.name === eventsStream && config.retention !== RetentionPolicy.Interest;
    if (isMoved || !ownStreams.includes(config.name)) bytes += Math.max(0, config.max_bytes);
  }
  return bytes;
}
