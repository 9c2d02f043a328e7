import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { TemplateOutline } from '../domain/outline.ts';
import type { OwnTemplate, TemplateName } from '../domain/own-template.ts';

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

/** Whose templates are meant: the user's own and the org's. */
interface Reach {
  readonly orgId: string;
  readonly userId: string;
}

/** By key, the user's own first; each with the outline of its published version, else its latest. */
export async function listTemplates(
  sql: Sql,
  { orgId, userId, key, limit }: Reach & { key: string | null; limit: number },
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

/** Templates of one owner are counted and added one after the other. */
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

/** A new draft; undefined when the owner has a template of that key. One that was deleted counts on. */
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

/** Undefined when `from` is not the latest version any more, or there is no such template. */
export async function countUpVersion(
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
  /** Each undefined: stays as it is. */
  readonly publishedVersion?: number;
  readonly isDisabled?: boolean;
}

/** Undefined when there is no such template, or not the version that is to be published. */
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

/** Waits for services that are being connected from it, and holds back those that would be. */
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

/** Whether this is what is connected now; stays so until the transaction ends. */
export async function holdPublishedVersion(
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
