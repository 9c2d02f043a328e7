import type { TemplateTier, Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { Service } from '../domain/service.ts';

interface ServiceRow {
  id: string;
  org_id: string;
  tier: Tier;
  owner_id: string | null;
  name: string;
  template_key: string;
  template_tier: TemplateTier;
  template_owner_id: string | null;
  template_version: number;
  title: string;
  base_url: string;
  hosts: string[];
  auto_allow_reads: boolean;
  secrets: Record<string, string>;
  created_at: Date;
}

const columns = [
  'id',
  'org_id',
  'tier',
  'owner_id',
  'name',
  'template_key',
  'template_tier',
  'template_owner_id',
  'template_version',
  'title',
  'base_url',
  'hosts',
  'auto_allow_reads',
  'secrets',
  'created_at',
];

/** Whose services are meant: the user's own and the org's. */
interface Reach {
  readonly orgId: string;
  readonly userId: string;
}

/** The service a name stands for: the user's own, else the org's. */
export async function findServiceByName(
  sql: Sql,
  { orgId, userId, name, isOrgOnly }: Reach & { name: string; isOrgOnly: boolean },
): Promise<Service | undefined> {
  const [row] = await sql<ServiceRow[]>`
    select ${sql(columns)}
      from registry.connected_service
     where org_id = ${orgId}
       and name = ${name}
       and (owner_id is null or (owner_id = ${userId} and not ${isOrgOnly}))
     order by owner_id nulls last
     limit 1
  `;
  return row && toService(row);
}

/** In order of their names, after the last row of the page before. */
export async function listServices(
  sql: Sql,
  {
    orgId,
    userId,
    after,
    limit,
  }: Reach & { after: { name: string; id: string } | null; limit: number },
): Promise<Service[]> {
  const position = after === null ? sql`` : sql`and (name, id) > (${after.name}, ${after.id})`;
  const rows = await sql<ServiceRow[]>`
    select ${sql(columns)}
      from registry.connected_service
     where org_id = ${orgId}
       and (owner_id is null or owner_id = ${userId}) ${position}
     order by name, id
     limit ${limit}
  `;
  return rows.map(toService);
}

export async function listServicesByHost(
  sql: Sql,
  { orgId, userId, host, limit }: Reach & { host: string; limit: number },
): Promise<Service[]> {
  const rows = await sql<ServiceRow[]>`
    select ${sql(columns)}
      from registry.connected_service
     where org_id = ${orgId}
       and (owner_id is null or owner_id = ${userId})
       and hosts @> array[${host}]
     order by id
     limit ${limit}
  `;
  return rows.map(toService);
}

/** Names a caller may have meant, as callers write them. */
export async function listServiceNames(
  sql: Sql,
  { orgId, userId, limit }: Reach & { limit: number },
): Promise<{ name: string; tier: Tier }[]> {
  return sql<{ name: string; tier: Tier }[]>`
    select name, tier
      from registry.connected_service
     where org_id = ${orgId}
       and (owner_id is null or owner_id = ${userId})
     order by name, tier
     limit ${limit}
  `;
}

/** Services of one owner are counted and added one after the other. */
export async function lockServicesOf(
  sql: Sql,
  { orgId, ownerId }: { orgId: string; ownerId: string | null },
): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtext(${`services ${orgId} ${ownerId ?? ''}`}))`;
  const [row] = await sql<{ services: number }[]>`
    select count(*)::integer as services
      from registry.connected_service
     where org_id = ${orgId}
       and owner_id is not distinct from ${ownerId}
  `;
  return row?.services ?? 0;
}

export type NewService = Omit<Service, 'createdAt'> & { readonly createdBy: string };

/** Undefined when the owner has a service of that name. */
export async function insertService(sql: Sql, service: NewService): Promise<Service | undefined> {
  const { template } = service;
  const [row] = await sql<ServiceRow[]>`
    insert into registry.connected_service (id, org_id, tier, owner_id, name, template_key,
                                            template_tier, template_owner_id, template_version,
                                            title, base_url, hosts, auto_allow_reads, secrets,
                                            created_by)
    values (${service.id}, ${service.orgId}, ${service.tier}, ${service.ownerId}, ${service.name},
            ${template.key}, ${template.tier}, ${template.ownerId}, ${template.version},
            ${service.title}, ${service.baseUrl}, ${[...service.hosts]},
            ${service.autoAllowReads}, ${JSON.stringify(service.secrets)}::text::jsonb,
            ${service.createdBy})
        on conflict on constraint connected_service_name_key do nothing
    returning ${sql(columns)}
  `;
  return row && toService(row);
}

interface OneService {
  readonly orgId: string;
  readonly id: string;
}

export async function updateAutoAllowReads(
  sql: Sql,
  { orgId, id, autoAllowReads }: OneService & { autoAllowReads: boolean },
): Promise<Service | undefined> {
  const [row] = await sql<ServiceRow[]>`
    update registry.connected_service
       set auto_allow_reads = ${autoAllowReads}, updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
    returning ${sql(columns)}
  `;
  return row && toService(row);
}

/** False when somebody else deleted it first. */
export async function deleteService(sql: Sql, { orgId, id }: OneService): Promise<boolean> {
  const rows = await sql`
    delete from registry.connected_service
     where org_id = ${orgId}
       and id = ${id}
    returning id
  `;
  return rows.length === 1;
}

function toService(row: ServiceRow): Service {
  return {
    id: row.id,
    orgId: row.org_id,
    tier: row.tier,
    ownerId: row.owner_id,
    name: row.name,
    template: {
      key: row.template_key,
      tier: row.template_tier,
      ownerId: row.template_owner_id,
      version: row.template_version,
    },
    title: row.title,
    baseUrl: row.base_url,
    hosts: row.hosts,
    autoAllowReads: row.auto_allow_reads,
    secrets: row.secrets,
    createdAt: row.created_at,
  };
}
