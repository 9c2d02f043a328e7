import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { TemplateOutline } from './domain/outline.ts';
import type { OwnTemplate, TemplateName } from './domain/own-template.ts';

interface TemplateRow {
  org_id: string;
  tier: Tier;
  owner_id: string;
  key: string;
  version: number;
  published_version: number | null;
  is_disabled: boolean;
  updated_at: Date;
}

const columns = [
  'org_id',
  'tier',
  'owner_id',
  'key',
  'version',
  'published_version',
  'is_disabled',
  'updated_at',
];

/** Selects the templates that a user can see: the user's own and the org's. */
interface ViewerScope {
  readonly orgId: string;
  readonly userId: string;
}

/**
 * Lists templates in order of keys; of two with one key, the user's own comes first. Each has the
 * outline of its published version, or else of its latest version.
 */
export async function listTemplates(
  sql: Sql,
  { orgId, userId, key, limit }: ViewerScope & { key: string | null; limit: number },
): Promise<{ own: OwnTemplate; outline: TemplateOutline }[]> {
  const rows = await sql<(TemplateRow & { outline: string; shown: number })[]>`
    select template.org_id, template.tier, template.owner_id, template.key, template.version,
           template.published_version, template.is_disabled, template.updated_at,
           shown.outline, shown.version as shown
      from registry.template
      join registry.template_version as shown
        on shown.org_id = template.org_id
       and shown.tier = template.tier
       and shown.owner_id = template.owner_id
       and shown.key = template.key
       and shown.version = coalesce(template.published_version, template.version)
     where template.org_id = ${orgId}
       and (template.tier = 'org' or template.owner_id = ${userId})
       and template.deleted_at is null
       and (${key}::text is null or template.key = ${key})
     order by template.key, template.tier desc
     limit ${limit}
  `;
  return rows.map((row) => ({
    own: toTemplate(row),
    outline: { ...(JSON.parse(row.outline) as TemplateOutline), version: row.shown },
  }));
}

/**
 * Lets only one transaction at a time create templates for an owner, so that the limit on their
 * number holds.
 */
export async function lockTemplatesOf(
  sql: Sql,
  { orgId, tier, ownerId }: Omit<TemplateName, 'key'>,
): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtext(${`templates ${orgId} ${ownerId}`}))`;
  const [row] = await sql<{ templates: number }[]>`
    select count(*)::integer as templates
      from registry.template
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and deleted_at is null
  `;
  return row?.templates ?? 0;
}

/**
 * Inserts a draft; undefined when the owner already has a template with that key. If a deleted
 * template had the key, the version numbers continue after its last one.
 */
export async function insertTemplate(
  sql: Sql,
  { id, orgId, tier, ownerId, key }: TemplateName & { id: string },
): Promise<OwnTemplate | undefined> {
  const [row] = await sql<TemplateRow[]>`
    insert into registry.template as old (id, org_id, tier, owner_id, key, version)
    values (${id}, ${orgId}, ${tier}, ${ownerId}, ${key}, 1)
        on conflict on constraint template_name_key do update
       set version = old.version + 1,
           published_version = null,
           is_disabled = false,
           deleted_at = null,
           created_at = now(),
           updated_at = now()
     where old.deleted_at is not null
    returning ${sql(columns)}
  `;
  return row && toTemplate(row);
}

/**
 * Increments the version of a template. Undefined when `from` is no longer the latest version, or
 * the template no longer exists.
 */
export async function incrementVersion(
  sql: Sql,
  { orgId, tier, ownerId, key, from }: TemplateName & { from: number },
): Promise<OwnTemplate | undefined> {
  const [row] = await sql<TemplateRow[]>`
    update registry.template
       set version = version + 1, updated_at = now()
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
       and version = ${from}
       and deleted_at is null
    returning ${sql(columns)}
  `;
  return row && toTemplate(row);
}

export interface TemplateSwitch {
  /** A field that is undefined is not changed. */
  readonly publishedVersion?: number;
  readonly isDisabled?: boolean;
}

/**
 * Publishes, disables or enables a template. Undefined when the template no longer exists, or the
 * version to publish does not exist.
 */
export async function switchTemplate(
  sql: Sql,
  { orgId, tier, ownerId, key, ...change }: TemplateName & TemplateSwitch,
): Promise<OwnTemplate | undefined> {
  const version = change.publishedVersion ?? null;
  const [row] = await sql<TemplateRow[]>`
    update registry.template
       set published_version = coalesce(${version}, published_version),
           is_disabled = coalesce(${change.isDisabled ?? null}, is_disabled),
           updated_at = now()
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
       and deleted_at is null
       and (${version}::integer is null
            or exists (select 1
                         from registry.template_version
                        where org_id = ${orgId}
                          and tier = ${tier}
                          and owner_id = ${ownerId}
                          and key = ${key}
                          and version = ${version}))
    returning ${sql(columns)}
  `;
  return row && toTemplate(row);
}

/**
 * Locks a template until the transaction ends. Waits for transactions that are making a service
 * from the template, and makes new ones wait.
 */
export async function lockTemplate(
  sql: Sql,
  { orgId, tier, ownerId, key }: TemplateName,
): Promise<OwnTemplate | undefined> {
  const [row] = await sql<TemplateRow[]>`
    select ${sql(columns)}
      from registry.template
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
       and deleted_at is null
       for update
  `;
  return row && toTemplate(row);
}

/**
 * Whether the template is enabled and this is its published version. Neither can change until the
 * transaction ends.
 */
export async function lockPublishedVersion(
  sql: Sql,
  { orgId, tier, ownerId, key, version }: TemplateName & { version: number },
): Promise<boolean> {
  const rows = await sql`
    select 1
      from registry.template
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
       and published_version = ${version}
       and not is_disabled
       and deleted_at is null
       for share
  `;
  return rows.length === 1;
}

export async function deleteTemplate(
  sql: Sql,
  { orgId, tier, ownerId, key }: TemplateName,
): Promise<void> {
  await sql`
    update registry.template
       set deleted_at = now(), updated_at = now()
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
  `;
}

function toTemplate(row: TemplateRow): OwnTemplate {
  return {
    orgId: row.org_id,
    tier: row.tier,
    ownerId: row.owner_id,
    key: row.key,
    version: row.version,
    publishedVersion: row.published_version,
    isDisabled: row.is_disabled,
    updatedAt: row.updated_at,
  };
}
