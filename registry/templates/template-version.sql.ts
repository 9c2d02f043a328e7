import type { TemplateReference } from '#contracts/call';
import type { TemplateDifference } from '#contracts/http/templates';
import type { CompiledTemplate } from '#contracts/template';
import type { Sql } from '#database';
import { differenceBetween } from './domain/difference.ts';
import { outlineOf } from './domain/outline.ts';
import type { TemplateName } from './domain/own-template.ts';

export interface NewVersion {
  readonly id: string;
  readonly key: string;
  readonly contentHash: string;
  /** The compiled template. Its version number is not final: `assignBuiltInVersion` assigns it. */
  readonly template: CompiledTemplate;
}

/**
 * Returns the version number for the content of a built-in template. Content that was stored before
 * keeps its number; new content gets the next one and is stored (`isNew`). The caller must hold
 * `lockBuiltInTemplates`.
 */
export async function assignBuiltInVersion(
  sql: Sql,
  { id, key, contentHash, template }: NewVersion,
): Promise<{ version: number; isNew: boolean }> {
  const [known] = await sql<{ version: number }[]>`
    select version
      from registry.template_version
     where org_id is null
       and key = ${key}
       and content_hash = ${contentHash}
  `;
  if (known !== undefined) return { version: known.version, isNew: false };
  const [before] = await sql<{ compiled: string }[]>`
    select compiled
      from registry.template_version
     where org_id is null
       and key = ${key}
     order by version desc
     limit 1
  `;
  const difference =
    before && differenceBetween(JSON.parse(before.compiled) as CompiledTemplate, template);
  const [added] = await sql<{ version: number }[]>`
    insert into registry.template_version (id, org_id, tier, owner_id, key, version, content_hash,
                                           compiled, outline, difference)
    select ${id}, null, 'global', null, ${key}, coalesce(max(version), 0) + 1, ${contentHash},
           ${JSON.stringify(template)}, ${JSON.stringify(outlineOf(template))},
           ${difference === undefined ? null : JSON.stringify(difference)}
      from registry.template_version
     where org_id is null
       and key = ${key}
    returning version
  `;
  if (added === undefined) throw new Error('an insert from an aggregate always inserts one row');
  return { version: added.version, isNew: true };
}

/**
 * Lets one replica at a time assign versions, so that replicas that start together give the same
 * content one number.
 */
export async function lockBuiltInTemplates(sql: Sql): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('registry built-in templates'))`;
}

export interface SavedVersion {
  readonly id: string;
  readonly name: TemplateName;
  readonly version: number;
  readonly contentHash: string;
  readonly template: CompiledTemplate;
  readonly document: string;
  readonly difference: TemplateDifference | null;
  readonly sourceUrl: string | null;
  readonly createdBy: string;
}

/**
 * Inserts a version that an author saved. Its number must have been reserved in this transaction.
 */
export async function insertVersion(sql: Sql, version: SavedVersion): Promise<Date> {
  const { orgId, tier, ownerId, key } = version.name;
  const difference = version.difference === null ? null : JSON.stringify(version.difference);
  const [row] = await sql<{ created_at: Date }[]>`
    insert into registry.template_version (id, org_id, tier, owner_id, key, version, content_hash,
                                           compiled, outline, document, difference, source_url,
                                           created_by)
    values (${version.id}, ${orgId}, ${tier}, ${ownerId}, ${key}, ${version.version},
            ${version.contentHash}, ${JSON.stringify(version.template)},
            ${JSON.stringify(outlineOf(version.template))}, ${version.document}, ${difference},
            ${version.sourceUrl}, ${version.createdBy})
    returning created_at
  `;
  if (row === undefined) throw new Error('an insert of values inserts one row');
  return row.created_at;
}

/** Deletes old versions, except the published one and those that a service uses. */
export async function pruneVersions(
  sql: Sql,
  { orgId, tier, ownerId, key, upTo }: TemplateName & { upTo: number },
): Promise<void> {
  await sql`
    delete from registry.template_version as old
     where old.org_id = ${orgId}
       and old.tier = ${tier}
       and old.owner_id = ${ownerId}
       and old.key = ${key}
       and old.version <= ${upTo}
       and not exists (
         select 1
           from registry.template
          where template.org_id = old.org_id
            and template.tier = old.tier
            and template.owner_id = old.owner_id
            and template.key = old.key
            and template.published_version = old.version
       )
       and not exists (
         select 1
           from registry.connected_service
          where connected_service.org_id = old.org_id
            and connected_service.template_tier = old.tier
            and connected_service.template_owner_id = old.owner_id
            and connected_service.template_key = old.key
            and connected_service.template_version = old.version
       )
  `;
}

export async function deleteVersions(
  sql: Sql,
  { orgId, tier, ownerId, key }: TemplateName,
): Promise<void> {
  await sql`
    delete from registry.template_version
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
  `;
}

export interface VersionRow {
  readonly version: number;
  readonly actionsCount: number;
  readonly createdAt: Date;
  readonly createdBy: string | null;
  readonly sourceUrl: string | null;
  readonly difference: TemplateDifference | null;
}

/** Lists versions, newest first, after the last version of the previous page. */
export async function listVersions(
  sql: Sql,
  {
    orgId,
    template: { tier, ownerId, key },
    before,
    limit,
  }: {
    orgId: string;
    template: Omit<TemplateReference, 'version'>;
    before: number | null;
    limit: number;
  },
): Promise<VersionRow[]> {
  const rows = await sql<
    {
      version: number;
      actions_count: number;
      created_at: Date;
      created_by: string | null;
      source_url: string | null;
      difference: string | null;
    }[]
  >`
    select version, created_at, created_by, source_url, difference,
           coalesce((outline::jsonb ->> 'actionsCount')::integer, 0) as actions_count
      from registry.template_version
     where (org_id is null or org_id = ${orgId})
       and tier = ${tier}
       and owner_id is not distinct from ${ownerId}
       and key = ${key}
       and version < coalesce(${before}::integer, 2147483647)
     order by version desc
     limit ${limit}
  `;
  return rows.map((row) => ({
    version: row.version,
    actionsCount: row.actions_count,
    createdAt: row.created_at,
    createdBy: row.created_by,
    sourceUrl: row.source_url,
    difference: row.difference === null ? null : (JSON.parse(row.difference) as TemplateDifference),
  }));
}

export async function findDocument(
  sql: Sql,
  { orgId, tier, ownerId, key, version }: TemplateName & { version: number },
): Promise<string | undefined> {
  const [row] = await sql<{ document: string | null }[]>`
    select document
      from registry.template_version
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
       and version = ${version}
  `;
  return row?.document ?? undefined;
}

/** Finds a stored version that the org may use: one of its own, or of a built-in template. */
export async function findTemplateVersion(
  sql: Sql,
  { orgId, template }: { orgId: string; template: TemplateReference },
): Promise<{ template: CompiledTemplate; size: number } | undefined> {
  const [row] = await sql<{ compiled: string }[]>`
    select compiled
      from registry.template_version
     where (org_id is null or org_id = ${orgId})
       and tier = ${template.tier}
       and owner_id is not distinct from ${template.ownerId}
       and key = ${template.key}
       and version = ${template.version}
  `;
  if (row === undefined) return undefined;
  const compiledTemplate = JSON.parse(row.compiled) as CompiledTemplate;
  return {
    template: { ...compiledTemplate, version: template.version },
    size: row.compiled.length,
  };
}
