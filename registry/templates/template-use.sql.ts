import type { Sql } from '#database';
import type { TemplateName } from './domain/own-template.ts';

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
