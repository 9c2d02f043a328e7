import type { TemplateReference } from '#contracts/call';
import type { Sql } from '#database';

interface KnownTemplate {
  readonly orgId: string;
  readonly template: Omit<TemplateReference, 'toolset'>;
  /** The `authoredDigest` of the template. */
  readonly digest: string;
}

/**
 * Whether a template with this digest was shipped with the product, or published under this
 * version.
 */
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

/** Whether this template version was ever recorded. */
export async function isRecordedVersion(
  sql: Sql,
  { orgId, template }: Omit<KnownTemplate, 'digest'>,
): Promise<boolean> {
  return (await findRecordedDigest(sql, { orgId, template })) !== undefined;
}

/**
 * Records a template version. Only the first record of a version counts; later records change
 * nothing. Returns `full` when the owner already has `max` versions.
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
  const recordedDigest = await findRecordedDigest(sql, { orgId, template });
  if (recordedDigest === undefined) return 'full';
  return recordedDigest === digest ? 'recorded' : 'differs';
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
