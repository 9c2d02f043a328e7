import type { TemplateTier, Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';
import type { Service } from './domain/service.ts';

export interface ServiceRow {
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
  connection: string | null;
  schemes: string[] | null;
  variables: Record<string, string>;
  is_base_url_given: boolean;
  created_at: Date;
  toolset_version: number | null;
  tools_asked_at: Date | null;
  tools_error: string | null;
  tools_waiting: number;
  is_out_of_use: boolean;
  published_version: number | null;
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
  'connection',
  'schemes',
  'variables',
  'is_base_url_given',
  'created_at',
  'toolset_version',
  'tools_asked_at',
  'tools_error',
];

/** The columns of a service. A service counts as disabled when its template is disabled. */
export const serviceColumns = (sql: Sql) => sql`
  ${sql(columns)},
  is_disabled or exists (
    select 1
      from registry.template
     where ${isTemplateOf(sql)}
       and template.is_disabled
  ) as is_out_of_use,
  (
    select template.published_version
      from registry.template
     where ${isTemplateOf(sql)}
  ) as published_version,
  case when toolset_version is null then 0 else (
    select count(*)::integer
      from registry.service_tool
     where service_tool.org_id = connected_service.org_id
       and service_tool.service_id = connected_service.id
       and service_tool.offered_hash is distinct from service_tool.accepted_hash
       and service_tool.offered_hash is not null
       and service_tool.problem is null
  ) end as tools_waiting
`;

const isTemplateOf = (sql: Sql) => sql`
  template.org_id = connected_service.org_id
       and template.tier = connected_service.template_tier
       and template.owner_id = connected_service.template_owner_id
       and template.key = connected_service.template_key
`;

export function toService(row: ServiceRow): Service {
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
      ...(row.toolset_version === null
        ? {}
        : { toolset: { serviceId: row.id, version: row.toolset_version } }),
    },
    title: row.title,
    baseUrl: row.base_url,
    hosts: row.hosts,
    autoAllowReads: row.auto_allow_reads,
    secrets: row.secrets,
    connection: row.connection,
    ...(row.schemes === null ? {} : { schemes: row.schemes }),
    variables: row.variables,
    isBaseUrlGiven: row.is_base_url_given,
    isDisabled: row.is_out_of_use,
    publishedVersion: row.published_version,
    createdAt: row.created_at,
    toolsAskedAt: row.tools_asked_at,
    toolsError: row.tools_error,
    toolsWaiting: row.tools_waiting,
  };
}
