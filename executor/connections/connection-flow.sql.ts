import type { AccountAddress } from '#contracts/account-value';
import type { IdentityReference } from '#contracts/vocabulary';
import type { Sql } from '#database';

/**
 * One attempt to get an account owner's permission: requested, begun in one browser session, and
 * answered by the provider once.
 */
export interface StoredFlow {
  readonly id: string;
  readonly orgId: string;
  readonly connectionId: string;
  readonly provider: string;
  readonly scopes: string[];
  readonly hosts: string[];
  readonly askedBy: IdentityReference;
  /**
   * How to look up the address of the service in the account; null when the address does not depend
   * on the account.
   */
  readonly address: AccountAddress | null;
  readonly appId: string | null;
  readonly appVersion: number | null;
  readonly sealedVerifier: Buffer | null;
  /** True while the flow is neither answered nor expired. */
  readonly isOpen: boolean;
}

export interface FlowRow {
  id: string;
  org_id: string;
  connection_id: string;
  provider: string;
  scopes: string[];
  hosts: string[];
  asked_by: IdentityReference;
  account_address: AccountAddress | null;
  app_id: string | null;
  app_version: number | null;
  sealed_verifier: Buffer | null;
  is_open: boolean;
}

interface At {
  readonly orgId: string;
  readonly id: string;
}

/** The limit on open links of one connection. Beyond it, a new link deletes the oldest one. */
const openFlowsMax = 10;

/** Inserts a flow. Its owner can begin it within a day. */
export async function insertConnectionFlow(
  sql: Sql,
  flow: Pick<
    StoredFlow,
    'id' | 'orgId' | 'connectionId' | 'provider' | 'scopes' | 'hosts' | 'askedBy' | 'address'
  >,
): Promise<void> {
  const { id, orgId, connectionId, provider, scopes, hosts, askedBy, address } = flow;
  await sql`
    insert into executor.connection_flow
           (id, org_id, connection_id, provider, scopes, hosts, asked_by, account_address, expires_at)
    values (${id}, ${orgId}, ${connectionId}, ${provider}, ${scopes}, ${hosts},
            ${sql.json({ ...askedBy })}, ${address === null ? null : sql.json(address)}, now() + interval '1 day')
  `;
  await sql`
    delete from executor.connection_flow
     where org_id = ${orgId}
       and connection_id = ${connectionId}
       and state_hash is null
       and (${address !== null} or account_address is null)
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
    select id, org_id, connection_id, provider, scopes, hosts, asked_by, account_address,
           app_id, app_version, sealed_verifier, used_at is null and expires_at > now() as is_open
      from executor.connection_flow
     where org_id = ${orgId}
       and id = ${id}
  `;
  return row && toFlow(row);
}

/** The latest flow of a connection, whichever identity requested it. */
export async function findLatestConnectionFlow(
  sql: Sql,
  { orgId, connectionId }: { orgId: string; connectionId: string },
): Promise<StoredFlow | undefined> {
  const [row] = await sql<FlowRow[]>`
    select id, org_id, connection_id, provider, scopes, hosts, asked_by, account_address,
           app_id, app_version, sealed_verifier, used_at is null and expires_at > now() as is_open
      from executor.connection_flow
     where org_id = ${orgId}
       and connection_id = ${connectionId}
     order by created_at desc, id desc
     limit 1
  `;
  return row && toFlow(row);
}

/**
 * How to look up the addresses of a template's services in the account of a connection, from the
 * newest flow that contains this. Null when no template of the connection looks up an address.
 */
export async function findAccountAddress(
  sql: Sql,
  { orgId, connectionId }: { orgId: string; connectionId: string },
): Promise<AccountAddress | null> {
  const [row] = await sql<Pick<FlowRow, 'account_address'>[]>`
    select account_address
      from executor.connection_flow
     where org_id = ${orgId}
       and connection_id = ${connectionId}
       and account_address is not null
     order by created_at desc, id desc
     limit 1
  `;
  return row?.account_address ?? null;
}

/**
 * Binds a flow to a browser session for ten minutes. When the owner begins the flow again (in
 * another tab, or after going back), the new `state` replaces the old one, so at most one is valid.
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
 * Marks a flow as used. Succeeds only in the browser session that began the flow, and only at the
 * callback of the flow's provider.
 */
export async function consumeConnectionFlow(
  sql: Sql,
  flowKey: { orgId: string; stateHash: Buffer; sessionId: string; provider: string },
): Promise<StoredFlow | undefined> {
  const [row] = await sql<FlowRow[]>`
    update executor.connection_flow
       set used_at = now()
     where org_id = ${flowKey.orgId}
       and state_hash = ${flowKey.stateHash}
       and session_id = ${flowKey.sessionId}
       and provider = ${flowKey.provider}
       and used_at is null
       and answer_until > now()
    returning id, org_id, connection_id, provider, scopes, hosts, asked_by, account_address,
              app_id, app_version, sealed_verifier, false as is_open
  `;
  return row && toFlow(row);
}

/**
 * Deletes old flows, across orgs. Keeps two flows of each connection as long as the connection
 * exists. The latest flow is kept because a repair requests its scopes and hosts. The latest flow
 * with an address is kept because every later grant must be bound by it.
 */
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
                                    and (old.account_address is null or newer.account_address is not null)
                                    and (newer.created_at, newer.id) > (old.created_at, old.id))
                   limit ${limit})
  `;
}

export function toFlow(row: FlowRow): StoredFlow {
  return {
    id: row.id,
    orgId: row.org_id,
    connectionId: row.connection_id,
    provider: row.provider,
    scopes: row.scopes,
    hosts: row.hosts,
    askedBy: row.asked_by,
    address: row.account_address,
    appId: row.app_id,
    appVersion: row.app_version,
    sealedVerifier: row.sealed_verifier,
    isOpen: row.is_open,
  };
}
