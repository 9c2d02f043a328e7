import type { Sql } from '#database';

/** Whether an admin of the org gave this base URL for a service. */
export async function isKnownAddress(
  sql: Sql,
  { orgId, baseUrl }: { orgId: string; baseUrl: string },
): Promise<boolean> {
  const rows = await sql`
    select 1
      from policy.known_address
     where org_id = ${orgId}
       and base_url = ${baseUrl}
  `;
  return rows.length > 0;
}

/** Inserts an address; an existing one stays unchanged. */
export async function insertKnownAddress(
  sql: Sql,
  { id, orgId, baseUrl, givenBy }: { id: string; orgId: string; baseUrl: string; givenBy: string },
): Promise<void> {
  await sql`
    insert into policy.known_address (id, org_id, base_url, given_by)
    values (${id}, ${orgId}, ${baseUrl}, ${givenBy})
        on conflict on constraint known_address_key do nothing
  `;
}
