import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { Credentials } from '../domain/credentials.ts';
import type { TemplateName } from '../domain/own-template.ts';
import type { Service } from '../domain/service.ts';
import { selected, toService } from './service-row.ts';
import type { ServiceRow } from './service-row.ts';

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
    select ${selected(sql)}
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
    select ${selected(sql)}
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
    select ${selected(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and (owner_id is null or owner_id = ${userId})
       and hosts @> array[${host}]
     order by owner_id nulls first, id
     limit ${limit}
  `;
  return rows.map(toService);
}

/** Those that a user can call, or other users' own; in the order in which they were made. */
export async function listAllServices(
  sql: Sql,
  {
    orgId,
    userId,
    whose,
    after,
    limit,
  }: Reach & { whose: 'callable' | 'others'; after: string | null; limit: number },
): Promise<Service[]> {
  const owners =
    whose === 'callable'
      ? sql`(owner_id is null or owner_id = ${userId})`
      : sql`(owner_id is not null and owner_id <> ${userId})`;
  const rows = await sql<ServiceRow[]>`
    select ${selected(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and ${owners}
       ${after === null ? sql`` : sql`and id > ${after}`}
     order by id
     limit ${limit}
  `;
  return rows.map(toService);
}

/** Services whose credentials name one of these secrets; of the whole org with `userId` null. */
export async function listServicesBySecret(
  sql: Sql,
  {
    orgId,
    userId,
    references,
    limit,
  }: { orgId: string; userId: string | null; references: readonly string[]; limit: number },
): Promise<Service[]> {
  const reach = userId === null ? sql`` : sql`and (owner_id is null or owner_id = ${userId})`;
  const rows = await sql<ServiceRow[]>`
    select ${selected(sql)}
      from registry.connected_service
     where org_id = ${orgId} ${reach}
       and exists (select from jsonb_each_text(secrets) as named
                    where named.value = any(${[...references]}))
     order by name, id
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

export async function countServicesOf(
  sql: Sql,
  { orgId, tier, ownerId, key }: TemplateName,
): Promise<number> {
  const [row] = await sql<{ services: number }[]>`
    select count(*)::integer as services
      from registry.connected_service
     where org_id = ${orgId}
       and template_tier = ${tier}
       and template_owner_id = ${ownerId}
       and template_key = ${key}
  `;
  return row?.services ?? 0;
}

export type NewService = Omit<
  Service,
  'createdAt' | 'isDisabled' | 'publishedVersion' | 'toolsAskedAt' | 'toolsError'
> & {
  readonly createdBy: string;
};

/** Undefined when the owner has a service of that name. */
export async function insertService(sql: Sql, service: NewService): Promise<Service | undefined> {
  const { template } = service;
  const [row] = await sql<ServiceRow[]>`
    insert into registry.connected_service (id, org_id, tier, owner_id, name, template_key,
                                            template_tier, template_owner_id, template_version,
                                            title, base_url, hosts, auto_allow_reads, secrets,
                                            connection, variables, is_base_url_given, created_by)
    values (${service.id}, ${service.orgId}, ${service.tier}, ${service.ownerId}, ${service.name},
            ${template.key}, ${template.tier}, ${template.ownerId}, ${template.version},
            ${service.title}, ${service.baseUrl}, ${[...service.hosts]},
            ${service.autoAllowReads}, ${JSON.stringify(service.secrets)}::text::jsonb,
            ${service.connection},
            ${JSON.stringify(service.variables)}::text::jsonb, ${service.isBaseUrlGiven},
            ${service.createdBy})
        on conflict on constraint connected_service_name_key do nothing
    returning ${selected(sql)}
  `;
  return row && toService(row);
}

interface OneService {
  readonly orgId: string;
  readonly id: string;
}

export interface ServiceChange {
  /** Each undefined: stays as it is. */
  readonly autoAllowReads: boolean | undefined;
  readonly isDisabled: boolean | undefined;
  readonly credentials: Credentials | undefined;
  /** The version the change was looked at with: an upgrade in between makes it undefined. */
  readonly templateVersion: number;
}

export async function updateService(
  sql: Sql,
  { orgId, id, ...change }: OneService & ServiceChange,
): Promise<Service | undefined> {
  const { credentials } = change;
  const secrets = credentials === undefined ? null : JSON.stringify(credentials.secrets);
  const [row] = await sql<ServiceRow[]>`
    update registry.connected_service
       set auto_allow_reads = coalesce(${change.autoAllowReads ?? null}, auto_allow_reads),
           is_disabled = coalesce(${change.isDisabled ?? null}, is_disabled),
           secrets = coalesce(${secrets}::text::jsonb, secrets),
           connection = case when ${secrets}::text is null then connection
                             else ${credentials?.connection ?? null}::text end,
           updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and template_version = ${change.templateVersion}
    returning ${selected(sql)}
  `;
  return row && toService(row);
}

export interface ServiceUpgrade extends Credentials {
  readonly from: number;
  readonly to: number;
  readonly title: string;
  readonly baseUrl: string;
  readonly hosts: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
}

/** Undefined when it is gone, or another version than `from` is pinned by now. */
export async function upgradeService(
  sql: Sql,
  { orgId, id, ...upgrade }: OneService & ServiceUpgrade,
): Promise<Service | undefined> {
  const [row] = await sql<ServiceRow[]>`
    update registry.connected_service
       set template_version = ${upgrade.to},
           title = ${upgrade.title},
           base_url = ${upgrade.baseUrl},
           hosts = ${[...upgrade.hosts]},
           variables = ${JSON.stringify(upgrade.variables)}::text::jsonb,
           secrets = ${JSON.stringify(upgrade.secrets)}::text::jsonb,
           connection = ${upgrade.connection},
           updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and template_version = ${upgrade.from}
    returning ${selected(sql)}
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
