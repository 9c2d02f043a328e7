import type { IdentityReference } from '#contracts/vocabulary';
import type { Sql } from '#database';

/** One attempt to get (more) access: asked for, begun in one browser session, answered once. */
export interface StoredFlow {
  readonly id: string;
  readonly orgId: string;
  readonly connectionId: string;
  readonly provider: string;
  readonly scopes: string[];
  readonly hosts: string[];
  readonly askedBy: IdentityReference;
  readonly appId: string | null;
  readonly appVersion: number | null;
  readonly sealedVerifier: Buffer | null;
  /** Neither answered nor too old to be begun. */
  readonly isOpen: boolean;
}

interface FlowRow {
  id: string;
  org_id: string;
  connection_id: string;
  provider: string;
  scopes: string[];
  hosts: string[];
  asked_by: IdentityReference;
  app_id: string | null;
  app_version: number | null;
  sealed_verifier: Buffer | null;
  is_open: boolean;
}

interface At {
  readonly orgId: string;
  readonly id: string;
}

/** Links that wait for their owner, of one connection: the oldest give way. */
const openFlowsMax = 10;

/** For a day; then who wants it has to ask again. */
export async function insertConnectionFlow(
  sql: Sql,
  flow: Pick<
    StoredFlow,
    'id' | 'orgId' | 'connectionId' | 'provider' | 'scopes' | 'hosts' | 'askedBy'
  >,
): Promise<void> {
  const { id, orgId, connectionId, provider, scopes, hosts, askedBy } = flow;
  await sql`
    insert into executor.connection_flow
           (id, org_id, connection_id, provider, scopes, hosts, asked_by, expires_at)
    values (${id}, ${orgId}, ${connectionId}, ${provider}, ${scopes}, ${hosts},
            ${sql.json({ ...askedBy })}, now() + interval '1 day')
  `;
  await sql`
    delete from executor.connection_flow
     where org_id = ${orgId}
       and connection_id = ${connectionId}
       and state_hash is null
       and id not in (select id
                        from executor.connection_flow
                       where org_id = ${orgId}
                         and connection_id = ${connectionId}
                       order by created_at desc, id desc
                       limit ${openFlowsMax})
  `;
}

export async function findConnectionFlow(
  sql: Sql,
  { orgId, id }: At,
): Promise<StoredFlow | undefined> {
  const [row] = await sql<FlowRow[]>`
    select id, org_id, connection_id, provider, scopes, hosts, asked_by, app_id, app_version,
           sealed_verifier, used_at is null and expires_at > now() as is_open
      from executor.connection_flow
     where org_id = ${orgId}
       and id = ${id}
  `;
  return row && toFlow(row);
}

/** What was last asked for, by whomever. */
export async function findLatestConnectionFlow(
  sql: Sql,
  { orgId, connectionId }: { orgId: string; connectionId: string },
): Promise<StoredFlow | undefined> {
  const [row] = await sql<FlowRow[]>`
    select id, org_id, connection_id, provider, scopes, hosts, asked_by, app_id, app_version,
           sealed_verifier, used_at is null and expires_at > now() as is_open
      from executor.connection_flow
     where org_id = ${orgId}
       and connection_id = ${connectionId}
     order by created_at desc, id desc
     limit 1
  `;
  return row && toFlow(row);
}

/**
 * Sends a browser session on its way, for ten minutes. Beginning once more (another tab, or back
 * and again) replaces what was begun, so one state at most is good.
 */
export async function beginConnectionFlow(
  sql: Sql,
  {
    orgId,
    id,
    ...begun
  }: At & {
    appId: string | null;
    appVersion: number | null;
    stateHash: Buffer;
    sessionId: string;
    sealedVerifier: Buffer | null;
  },
): Promise<boolean> {
  const rows = await sql`
    update executor.connection_flow
       set app_id = ${begun.appId}, app_version = ${begun.appVersion},
           state_hash = ${begun.stateHash}, session_id = ${begun.sessionId},
           sealed_verifier = ${begun.sealedVerifier}, answer_until = now() + interval '10 minutes'
     where org_id = ${orgId}
       and id = ${id}
       and used_at is null
       and expires_at > now()
    returning id
  `;
  return rows.length === 1;
}

/**
 * Uses a flow up: only in the browser session that began it, and at the callback of the provider
 * it was begun with; to all others it stays as it is.
 */
export async function consumeConnectionFlow(
  sql: Sql,
  at: { orgId: string; stateHash: Buffer; sessionId: string; provider: string },
): Promise<StoredFlow | undefined> {
  const [row] = await sql<FlowRow[]>`
    update executor.connection_flow
       set used_at = now()
     where org_id = ${at.orgId}
       and state_hash = ${at.stateHash}
       and session_id = ${at.sessionId}
       and provider = ${at.provider}
       and used_at is null
       and answer_until > now()
    returning id, org_id, connection_id, provider, scopes, hosts, asked_by, app_id, app_version,
              sealed_verifier, false as is_open
  `;
  return row && toFlow(row);
}

/** Across orgs. The last one of a connection tells what to ask for at the next repair, and goes with it. */
export async function pruneConnectionFlows(sql: Sql, { limit }: { limit: number }): Promise<void> {
  await sql`
    delete from executor.connection_flow
     where id in (select old.id
                    from executor.connection_flow as old
                   where old.expires_at < now()
                     and exists (select 1
                                   from executor.connection_flow as newer
                                  where newer.org_id = old.org_id
                                    and newer.connection_id = old.connection_id
                                    and (newer.created_at, newer.id) > (old.created_at, old.id))
                   limit ${limit})
  `;
}

function toFlow(row: FlowRow): StoredFlow {
  return {
    id: row.id,
    orgId: row.org_id,
    connectionId: row.connection_id,
    provider: row.provider,
    scopes: row.scopes,
    hosts: row.hosts,
    askedBy: row.asked_by,
    appId: row.app_id,
    appVersion: row.app_version,
    sealedVerifier: row.sealed_verifier,
    isOpen: row.is_open,
  };
}
