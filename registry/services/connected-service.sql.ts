import type { TemplateReference } from '#contracts/call';
import type { Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { Credentials } from './domain/credentials.ts';
import type { Service } from './domain/service.ts';
import { serviceColumns, toService } from './service-row.sql.ts';
import type { ServiceRow } from './service-row.sql.ts';

/** Selects the services that a user can call: the user's own and the org's. */
interface CallerScope {
  readonly orgId: string;
  readonly userId: string;
}

/** Finds the service with this name: the user's own service, or else the org's. */
export async function findServiceByName(
  sql: Sql,
  { orgId, userId, name, isOrgOnly }: CallerScope & { name: string; isOrgOnly: boolean },
): Promise<Service | undefined> {
  const [row] = await sql<ServiceRow[]>`
    select ${serviceColumns(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and name = ${name}
       and (owner_id is null or (owner_id = ${userId} and not ${isOrgOnly}))
     order by owner_id nulls last
     limit 1
  `;
  return row && toService(row);
}

/** Lists services in order of their names, after the last row of the previous page. */
export async function listServices(
  sql: Sql,
  {
    orgId,
    userId,
    after,
    limit,
  }: CallerScope & { after: { name: string; id: string } | null; limit: number },
): Promise<Service[]> {
  const afterCondition =
    after === null ? sql`` : sql`and (name, id) > (${after.name}, ${after.id})`;
  const rows = await sql<ServiceRow[]>`
    select ${serviceColumns(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and (owner_id is null or owner_id = ${userId}) ${afterCondition}
     order by name, id
     limit ${limit}
  `;
  return rows.map(toService);
}

/**
 * Lists services that go to the host, and those made from these templates, whatever their version,
 * unless an admin gave their base URL. The org's come first.
 */
export async function listServicesByHost(
  sql: Sql,
  {
    orgId,
    userId,
    host,
    templates,
    limit,
  }: CallerScope & {
    host: string;
    templates: readonly Omit<TemplateReference, 'version'>[];
    limit: number;
  },
): Promise<Service[]> {
  const tiers = templates.map(({ tier }) => tier);
  const owners = templates.map(({ ownerId }) => ownerId);
  const keys = templates.map(({ key }) => key);
  const rows = await sql<ServiceRow[]>`
    select ${serviceColumns(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and (owner_id is null or owner_id = ${userId})
       and (hosts @> array[${host}]
            or (not is_base_url_given
                and exists (select from unnest(${tiers}::text[], ${owners}::uuid[], ${keys}::text[])
                                     as named (tier, owner_id, key)
                             where named.tier = template_tier
                               and template_owner_id is not distinct from named.owner_id
                               and named.key = template_key)))
     order by owner_id nulls first, id
     limit ${limit}
  `;
  return rows.map(toService);
}

/**
 * Lists the services that the user can call, or those of other users, in the order of their
 * creation.
 */
export async function listAllServices(
  sql: Sql,
  {
    orgId,
    userId,
    whose,
    after,
    limit,
  }: CallerScope & { whose: 'callable' | 'others'; after: string | null; limit: number },
): Promise<Service[]> {
  const ownersCondition =
    whose === 'callable'
      ? sql`(owner_id is null or owner_id = ${userId})`
      : sql`(owner_id is not null and owner_id <> ${userId})`;
  const rows = await sql<ServiceRow[]>`
    select ${serviceColumns(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and ${ownersCondition}
       ${after === null ? sql`` : sql`and id > ${after}`}
     order by id
     limit ${limit}
  `;
  return rows.map(toService);
}

/**
 * Lists services whose credentials include one of these secrets. `userId` null searches the whole
 * org.
 */
export async function listServicesBySecret(
  sql: Sql,
  {
    orgId,
    userId,
    references,
    limit,
  }: { orgId: string; userId: string | null; references: readonly string[]; limit: number },
): Promise<Service[]> {
  const ownerCondition =
    userId === null ? sql`` : sql`and (owner_id is null or owner_id = ${userId})`;
  const rows = await sql<ServiceRow[]>`
    select ${serviceColumns(sql)}
      from registry.connected_service
     where org_id = ${orgId} ${ownerCondition}
       and exists (select from jsonb_each_text(secrets) as named
                    where named.value = any(${[...references]}))
     order by name, id
     limit ${limit}
  `;
  return rows.map(toService);
}

/** Lists names of services, to suggest one when a caller gives an unknown name. */
export async function listServiceNames(
  sql: Sql,
  { orgId, userId, limit }: CallerScope & { limit: number },
): Promise<{ name: string; title: string; tier: Tier }[]> {
  return sql<{ name: string; title: string; tier: Tier }[]>`
    select name, title, tier
      from registry.connected_service
     where org_id = ${orgId}
       and (owner_id is null or owner_id = ${userId})
     order by name, tier
     limit ${limit}
  `;
}

/**
 * Locks the service until the transaction ends, so that no other transaction changes the service or
 * its tools. Undefined when the service no longer exists.
 */
export async function lockService(
  sql: Sql,
  { orgId, serviceId }: { orgId: string; serviceId: string },
): Promise<Service | undefined> {
  const [row] = await sql<ServiceRow[]>`
    select ${serviceColumns(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and id = ${serviceId}
       for update
  `;
  return row && toService(row);
}

/**
 * Lets only one transaction at a time create services for an owner, so that the limit on their
 * number holds.
 */
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

export type NewService = Omit<
  Service,
  'createdAt' | 'isDisabled' | 'publishedVersion' | 'toolsAskedAt' | 'toolsError' | 'toolsWaiting'
> & {
  readonly createdBy: string;
  /** The request that the service answers. */
  readonly requestId: string | null;
};

export async function findServiceOfRequest(
  sql: Sql,
  { orgId, requestId }: { orgId: string; requestId: string },
): Promise<Service | undefined> {
  const [row] = await sql<ServiceRow[]>`
    select ${serviceColumns(sql)}
      from registry.connected_service
     where org_id = ${orgId}
       and request_id = ${requestId}
  `;
  return row && toService(row);
}

/** Inserts a service; undefined when the owner already has a service with that name. */
export async function insertService(sql: Sql, service: NewService): Promise<Service | undefined> {
  const { template } = service;
  const [row] = await sql<ServiceRow[]>`
    insert into registry.connected_service (id, org_id, tier, owner_id, name, template_key,
                                            template_tier, template_owner_id, template_version,
                                            title, base_url, hosts, auto_allow_reads, secrets,
                                            connection, variables, is_base_url_given, created_by,
                                            request_id, schemes)
    values (${service.id}, ${service.orgId}, ${service.tier}, ${service.ownerId}, ${service.name},
            ${template.key}, ${template.tier}, ${template.ownerId}, ${template.version},
            ${service.title}, ${service.baseUrl}, ${[...service.hosts]},
            ${service.autoAllowReads}, ${JSON.stringify(service.secrets)}::text::jsonb,
            ${service.connection},
            ${JSON.stringify(service.variables)}::text::jsonb, ${service.isBaseUrlGiven},
            ${service.createdBy}, ${service.requestId}, ${schemesOf(service)})
        on conflict on constraint connected_service_name_key do nothing
    returning ${serviceColumns(sql)}
  `;
  return row && toService(row);
}

function schemesOf(credentials: Credentials | undefined): string[] | null {
  return credentials?.schemes === undefined ? null : [...credentials.schemes];
}

interface ServiceKey {
  readonly orgId: string;
  readonly id: string;
}

export interface ServiceChange {
  /** A field that is undefined is not changed. */
  readonly autoAllowReads: boolean | undefined;
  readonly isDisabled: boolean | undefined;
  readonly credentials: Credentials | undefined;
  /**
   * The template version for which the change was checked. When another request has upgraded the
   * service since then, the update finds no row.
   */
  readonly templateVersion: number;
}

export async function updateService(
  sql: Sql,
  { orgId, id, ...change }: ServiceKey & ServiceChange,
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
           schemes = case when ${secrets}::text is null then schemes
                          else ${schemesOf(credentials)}::text[] end,
           updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and template_version = ${change.templateVersion}
    returning ${serviceColumns(sql)}
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

/**
 * Pins another template version. Undefined when the service no longer exists or no longer pins the
 * version `from`.
 */
export async function upgradeService(
  sql: Sql,
  { orgId, id, ...upgrade }: ServiceKey & ServiceUpgrade,
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
           schemes = ${schemesOf(upgrade)},
           updated_at = now()
     where org_id = ${orgId}
       and id = ${id}
       and template_version = ${upgrade.from}
    returning ${serviceColumns(sql)}
  `;
  return row && toService(row);
}

/** Deletes a service; false when another request deleted the service first. */
export async function deleteService(sql: Sql, { orgId, id }: ServiceKey): Promise<boolean> {
  const rows = await sql`
    delete from registry.connected_service
     where org_id = ${orgId}
       and id = ${id}
    returning id
  `;
  return rows.length === 1;
}
