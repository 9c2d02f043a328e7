import type { Sql } from '#database';
import type { ClientFields, OauthClient, OauthClientKind } from './domain/oauth-client.ts';

/** Clients belong to no org, because they register before a user signs in. */

interface ClientRow {
  id: string;
  kind: OauthClientKind;
  name: string;
  software_id: string | null;
  redirect_uris: string[];
  is_current: boolean;
}

/** A stored client. `isCurrent` is false when its metadata document must be read again. */
export type FoundClient = OauthClient & { readonly isCurrent: boolean };

export async function findOauthClient(
  sql: Sql,
  { id }: { id: string },
): Promise<FoundClient | undefined> {
  const [row] = await sql<ClientRow[]>`
    select id, kind, name, software_id, redirect_uris,
           document_expires_at is null or document_expires_at > now() as is_current
      from auth.oauth_client
     where id = ${id}
  `;
  return (
    row && {
      id: row.id,
      kind: row.kind,
      name: row.name,
      softwareId: row.software_id,
      redirectUris: row.redirect_uris,
      isCurrent: row.is_current,
    }
  );
}

/**
 * Inserts a registered client. False when `waitingMax` clients are already waiting for their first
 * authorization.
 */
export async function insertOauthClient(
  sql: Sql,
  {
    id,
    name,
    softwareId,
    redirectUris,
    waitingMax,
  }: ClientFields & { id: string; waitingMax: number },
): Promise<boolean> {
  const rows = await sql`
    insert into auth.oauth_client (id, kind, name, software_id, redirect_uris)
    select ${id}, 'registered', ${name}, ${softwareId}, ${[...redirectUris]}::text[]
     where (select count(*)
              from auth.oauth_client
             where kind = 'registered'
               and last_authorized_at is null) < ${waitingMax}
    returning id
  `;
  return rows.length === 1;
}

/** Stores the content of a metadata document for `ttlSeconds`. */
export async function upsertDocumentClient(
  sql: Sql,
  {
    id,
    name,
    softwareId,
    redirectUris,
    ttlSeconds,
  }: ClientFields & { id: string; ttlSeconds: number },
): Promise<void> {
  await sql`
    insert into auth.oauth_client (id, kind, name, software_id, redirect_uris, document_expires_at)
    values (${id}, 'metadata_document', ${name}, ${softwareId}, ${[...redirectUris]}::text[],
            now() + make_interval(secs => ${ttlSeconds}::float8))
        on conflict (id) do update
       set name = excluded.name,
           software_id = excluded.software_id,
           redirect_uris = excluded.redirect_uris,
           document_expires_at = excluded.document_expires_at
     where auth.oauth_client.kind = 'metadata_document'
  `;
}

export async function touchOauthClient(sql: Sql, { id }: { id: string }): Promise<void> {
  await sql`
    update auth.oauth_client
       set last_authorized_at = now()
     where id = ${id}
  `;
}

/**
 * Whether any user of the deployment has ever authorized this client; always true for the seeded
 * client.
 */
export async function wasClientEverAuthorized(sql: Sql, { id }: { id: string }): Promise<boolean> {
  const rows = await sql`
    select id
      from auth.oauth_client
     where id = ${id}
       and (kind = 'seeded' or last_authorized_at is not null)
  `;
  return rows.length === 1;
}

/**
 * Whether an org allows a client. The org must not have revoked it. If the org has an allow list,
 * the list must contain the client.
 */
export async function isClientAllowed(
  sql: Sql,
  { orgId, clientId }: { orgId: string; clientId: string },
): Promise<boolean> {
  const rows = await sql`
    select c.id
      from auth.org o
      join auth.oauth_client c on c.id = ${clientId}
     where o.id = ${orgId}
       and ${listedClientCondition(sql)}
       and not exists (select 1
                         from auth.oauth_client_revocation r
                        where r.org_id = ${orgId}
                          and r.client_id = ${clientId})
  `;
  return rows.length === 1;
}

/**
 * Whether the allow list of the org `o` contains the client `c`. An org without a list allows every
 * client, and every org allows the CLI.
 */
const listedClientCondition = (sql: Sql) => sql`
  (o.oauth_client_allow_list is null
   or c.kind = 'seeded'
   or c.name = any(o.oauth_client_allow_list)
   or c.software_id = any(o.oauth_client_allow_list))
`;

/** Whether the allow list of the org contains the client of the grant `g`. */
export const listedGrantClientCondition = (sql: Sql) => sql`
  exists (select 1
            from auth.org o
            join auth.oauth_client c on c.id = g.client_id
           where o.id = g.org_id
             and ${listedClientCondition(sql)})
`;

/**
 * Deletes clients that nobody authorized within a day, and clients that had no live grant for 90
 * days. Keeps clients that an org has revoked: otherwise a client with a metadata document could
 * return under its old id.
 */
export async function pruneOauthClients(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.oauth_client
     where id in (select c.id
                    from auth.oauth_client c
                   where c.kind <> 'seeded'
                     and (c.last_authorized_at is null and c.created_at < now() - interval '24 hours'
                          or c.last_authorized_at < now() - interval '90 days')
                     and not exists (select 1
                                       from auth.oauth_client_revocation r
                                      where r.client_id = c.id)
                     and not exists (select 1
                                       from auth.oauth_grant g
                                       join auth.oauth_token t
                                         on t.org_id = g.org_id and t.grant_id = g.id
                                      where g.client_id = c.id
                                        and g.revoked_at is null
                                        and t.kind = 'refresh'
                                        and t.consumed_at is null
                                        and t.expires_at > now())
                   limit ${limit})
  `;
  return count;
}
