import type { TemplateReference } from '#contracts/call';
import type { Sql } from '#database';

interface KnownTemplate {
  readonly orgId: string;
  readonly template: Omit<TemplateReference, 'toolset'>;
  /** `authoredDigest`. */
  readonly digest: string;
}

/** Whether this is what was shipped, or what its publisher published under that number. */
export async function isKnownTemplate(
  sql: Sql,
  { orgId, template: { tier, ownerId, key, version }, digest }: KnownTemplate,
): Promise<boolean> {
  const isBuiltIn = tier === 'global';
  const rows = await sql`
    select 1
      from policy.known_template
     where org_id is not distinct from ${isBuiltIn ? null : orgId}
       and tier = ${tier}
       and owner_id is not distinct from ${ownerId}
       and key = ${key}
       and version is not distinct from ${isBuiltIn ? null : version}
       and digest = ${digest}
  `;
  return rows.length > 0;
}

/** Told again it stays as it is. */
export async function insertKnownTemplate(
  sql: Sql,
  {
    id,
    orgId,
    template: { tier, ownerId, key, version },
    digest,
    publishedBy,
  }: KnownTemplate & { readonly id: string; readonly publishedBy: string },
): Promise<void> {
  await sql`
    insert into policy.known_template (id, org_id, tier, owner_id, key, version, digest,
                                       published_by)
    values (${id}, ${orgId}, ${tier}, ${ownerId}, ${key}, ${version}, ${digest}, ${publishedBy})
        on conflict on constraint known_template_key do nothing
  `;
}
