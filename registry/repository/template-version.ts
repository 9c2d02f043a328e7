import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import type { Sql } from '#database';

export interface NewVersion {
  readonly id: string;
  readonly key: string;
  readonly contentHash: string;
  /** The compiled template; its version is what this call decides. */
  readonly template: CompiledTemplate;
}

/**
 * The version a built-in template's content has: the one it had before, or the next number.
 * `isNew` says that this call stored it. To be called under `lockBuiltInTemplates`.
 */
export async function numberBuiltInTemplate(
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
  const [added] = await sql<{ version: number }[]>`
    insert into registry.template_version (id, org_id, tier, owner_id, key, version, content_hash,
                                           compiled)
    select ${id}, null, 'global', null, ${key}, coalesce(max(version), 0) + 1, ${contentHash},
           ${JSON.stringify(template)}
      from registry.template_version
     where org_id is null
       and key = ${key}
    returning version
  `;
  if (added === undefined) throw new Error('an insert from an aggregate always inserts one row');
  return { version: added.version, isNew: true };
}

/** Replicas that start together number the same contents once, one after the other. */
export async function lockBuiltInTemplates(sql: Sql): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('registry built-in templates'))`;
}

/** One stored version that the org may use: its own, or a built-in one. */
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
  const compiled = JSON.parse(row.compiled) as CompiledTemplate;
  return { template: { ...compiled, version: template.version }, size: row.compiled.length };
}
