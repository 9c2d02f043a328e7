import type { Sql } from '#database';

export interface StoredProvider {
  readonly orgId: string;
  readonly key: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  /** The client secret, encrypted with SIGN_IN_KEY; null for a public client. */
  readonly clientSecret: Buffer | null;
  readonly scopes: readonly string[];
  readonly allowedEmailDomains: readonly string[];
  readonly allowedGroups: readonly string[];
}

const providerColumns = (sql: Sql) => sql`
  org_id as "orgId", key, name, issuer, client_id as "clientId", client_secret as "clientSecret",
  scopes, allowed_email_domains as "allowedEmailDomains", allowed_groups as "allowedGroups"
`;

/** Lists all providers of an org by key; an org may have at most a hundred. */
export async function listProviders(
  sql: Sql,
  { orgId }: { orgId: string },
): Promise<StoredProvider[]> {
  return sql<StoredProvider[]>`
    select ${providerColumns(sql)}
      from auth.sign_in_provider
     where org_id = ${orgId}
     order by key
     limit 100
  `;
}

export async function findProvider(
  sql: Sql,
  { orgId, key }: { orgId: string; key: string },
): Promise<StoredProvider | undefined> {
  const [row] = await sql<StoredProvider[]>`
    select ${providerColumns(sql)}
      from auth.sign_in_provider
     where org_id = ${orgId}
       and key = ${key}
  `;
  return row;
}

export async function countOtherProviders(
  sql: Sql,
  { orgId, exceptKey }: { orgId: string; exceptKey: string },
): Promise<number> {
  const [row] = await sql<{ providers: number }[]>`
    select count(*)::integer as providers
      from auth.sign_in_provider
     where org_id = ${orgId}
       and key <> ${exceptKey}
  `;
  return row?.providers ?? 0;
}

export async function putProvider(sql: Sql, provider: StoredProvider): Promise<void> {
  const { orgId, key, name, issuer, clientId, clientSecret } = provider;
  const lists = [provider.scopes, provider.allowedEmailDomains, provider.allowedGroups];
  const [scopes, domains, groups] = lists.map((list) => [...list]);
  await sql`
    insert into auth.sign_in_provider (org_id, key, name, issuer, client_id, client_secret, scopes,
                                       allowed_email_domains, allowed_groups)
    values (${orgId}, ${key}, ${name}, ${issuer}, ${clientId}, ${clientSecret},
            ${scopes ?? []}::text[], ${domains ?? []}::text[], ${groups ?? []}::text[])
        on conflict (org_id, key) do update
       set name = excluded.name,
           issuer = excluded.issuer,
           client_id = excluded.client_id,
           client_secret = excluded.client_secret,
           scopes = excluded.scopes,
           allowed_email_domains = excluded.allowed_email_domains,
           allowed_groups = excluded.allowed_groups,
           updated_at = now()
  `;
}

/** Deletes a provider; false when there was none. */
export async function deleteProvider(
  sql: Sql,
  { orgId, key }: { orgId: string; key: string },
): Promise<boolean> {
  const rows = await sql`
    delete from auth.sign_in_provider
     where org_id = ${orgId}
       and key = ${key}
    returning key
  `;
  return rows.length === 1;
}
