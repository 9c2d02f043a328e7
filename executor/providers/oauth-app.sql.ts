import { oauthProvider } from '#contracts/oauth-provider';
import type { OauthProvider } from '#contracts/oauth-provider';
import type { Sql } from '#database';

/**
 * The OAuth app of an org at a provider. It contains the provider's definition when the org defined
 * the provider itself.
 */
export interface StoredOauthApp {
  readonly id: string;
  readonly orgId: string;
  readonly provider: string;
  readonly version: number;
  readonly clientId: string;
  readonly sealedSecret: Buffer | null;
  readonly variables: Record<string, string>;
  readonly definition: OauthProvider | null;
  readonly updatedAt: Date;
}

interface OauthAppRow {
  id: string;
  org_id: string;
  provider: string;
  version: number;
  client_id: string;
  sealed_secret: Buffer | null;
  variables: Record<string, string>;
  definition: unknown;
  updated_at: Date;
}

const columns = [
  'id',
  'org_id',
  'provider',
  'version',
  'client_id',
  'sealed_secret',
  'variables',
  'definition',
  'updated_at',
];

export async function findOauthApp(
  sql: Sql,
  { orgId, provider }: { orgId: string; provider: string },
): Promise<StoredOauthApp | undefined> {
  const [row] = await sql<OauthAppRow[]>`
    select ${sql(columns)}
      from executor.oauth_app
     where org_id = ${orgId}
       and provider = ${provider}
  `;
  return row && toOauthApp(row);
}

export async function listOauthApps(
  sql: Sql,
  { orgId }: { orgId: string },
): Promise<StoredOauthApp[]> {
  const rows = await sql<OauthAppRow[]>`
    select ${sql(columns)}
      from executor.oauth_app
     where org_id = ${orgId}
     order by provider
     limit 400
  `;
  return rows.map(toOauthApp);
}

/**
 * A subquery: the keys of the org's own providers whose definition says that they do not tell the
 * scopes of a token.
 */
export function selectOpaqueProviders(sql: Sql, orgId: string) {
  return sql`
    select provider
      from executor.oauth_app
     where org_id = ${orgId}
       and definition ->> 'scopes' = 'opaque'
  `;
}

export async function listOpaqueProviders(sql: Sql, orgId: string): Promise<Set<string>> {
  const rows = await sql<{ provider: string }[]>`${selectOpaqueProviders(sql, orgId)} limit 400`;
  return new Set(rows.map(({ provider }) => provider));
}

/**
 * Inserts an app, or replaces it and increments its version. The row stays locked until the
 * transaction ends.
 */
export async function upsertOauthApp(
  sql: Sql,
  app: Pick<
    StoredOauthApp,
    'id' | 'orgId' | 'provider' | 'clientId' | 'variables' | 'definition'
  > & {
    createdBy: string;
  },
): Promise<StoredOauthApp> {
  const { id, orgId, provider, clientId, variables, definition, createdBy } = app;
  const [row] = await sql<OauthAppRow[]>`
    insert into executor.oauth_app as stored
           (id, org_id, provider, client_id, variables, definition, created_by)
    values (${id}, ${orgId}, ${provider}, ${clientId}, ${sql.json(variables)},
            ${definition === null ? null : sql.json(definition)}, ${createdBy})
        on conflict (org_id, provider)
        do update set version = stored.version + 1, client_id = excluded.client_id,
                      variables = excluded.variables, definition = excluded.definition,
                      sealed_secret = null, updated_at = now()
    returning ${sql(columns)}
  `;
  if (!row) throw new Error('upsert of an app returned no row');
  return toOauthApp(row);
}

export async function setOauthAppSecret(
  sql: Sql,
  { orgId, id, sealed }: { orgId: string; id: string; sealed: Buffer },
): Promise<void> {
  await sql`
    update executor.oauth_app
       set sealed_secret = ${sealed}
     where org_id = ${orgId}
       and id = ${id}
  `;
}

export async function deleteOauthApp(
  sql: Sql,
  { orgId, provider }: { orgId: string; provider: string },
): Promise<boolean> {
  const rows = await sql`
    delete from executor.oauth_app
     where org_id = ${orgId}
       and provider = ${provider}
    returning id
  `;
  return rows.length === 1;
}

function toOauthApp(row: OauthAppRow): StoredOauthApp {
  return {
    id: row.id,
    orgId: row.org_id,
    provider: row.provider,
    version: row.version,
    clientId: row.client_id,
    sealedSecret: row.sealed_secret,
    variables: row.variables,
    definition: row.definition === null ? null : oauthProvider.parse(row.definition),
    updatedAt: row.updated_at,
  };
}
