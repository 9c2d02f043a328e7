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

/** Whether anything was ever recorded of this version. */
export async function isRecordedVersion(
  sql: Sql,
  { orgId, template }: Omit<KnownTemplate, 'digest'>,
): Promise<boolean> {
  return (await findRecordedDigest(sql, { orgId, template })) !== undefined;
}

/**
 * The first record of a version counts; later ones change nothing. `full` when the owner has `max`
 * versions already.
 */
export async function insertKnownTemplate(
  sql: Sql,
  {
    id,
    orgId,
    template,
    digest,
    publishedBy,
    max,
  }: KnownTemplate & { readonly id: string; readonly publishedBy: string; readonly max: number },
): Promise<'recorded' | 'differs' | 'full'> {
  const { tier, ownerId, key, version } = template;
  await sql`
    insert into policy.known_template (id, org_id, tier, owner_id, key, version, digest,
                                       published_by)
    select ${id}, ${orgId}, ${tier}, ${ownerId}, ${key}, ${version}, ${digest}, ${publishedBy}
     where (select count(*)
              from policy.known_template
             where org_id = ${orgId}
               and tier = ${tier}
               and owner_id = ${ownerId}) < ${max}
        on conflict do nothing
  `;
  const recorded = await findRecordedDigest(sql, { orgId, template });
  if (recorded === undefined) return 'full';
  return recorded === digest ? 'recorded' : 'differs';
}

export async function deleteKnownTemplates(
  sql: Sql,
  { orgId, tier, ownerId, key }: { orgId: string; tier: string; ownerId: string; key: string },
): Promise<void> {
  await sql`
    delete from policy.known_template
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
  `;
}

async function findRecordedDigest(
  sql: Sql,
  { orgId, template: { tier, ownerId, key, version } }: Omit<KnownTemplate, 'digest'>,
): Promise<string | undefined> {
  const [row] = await sql<{ digest: string }[]>`
    select digest
      from policy.known_template
     where org_id = ${orgId}
       and tier = ${tier}
       and owner_id = ${ownerId}
       and key = ${key}
       and version = ${version}
  `;
  return row?.digest;
}
