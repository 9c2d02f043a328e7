import type { AuditRecord } from '#contracts/audit';
import type { AuditQuery } from '#contracts/http/audit';
import { PostgresError } from '#database';
import type { Sql } from '#database';
import { chainStart } from '../domain/chain.ts';
import type { Head } from '../domain/chain.ts';

type RecordRow = Omit<AuditRecord, 'at'> & { at: Date };

/** `seq` fits a number: 2^53 records are more than an org will write. */
const columns = (sql: Sql) => sql`
  id, org_id, seq::float8 as seq, at, type, user_id, identity, credential, service, template,
  action, permission_keys, risk, decision, outcome, error, http_status, duration_ms, description,
  disclosed, approval_id, execution_id, request_id, trace_id, ip, call_id, request_digest, count,
  request, prev_hash, hash
`;

/** One writer at a time per org, until the transaction ends: `seq` has no gaps and no forks. */
export async function lockChain(sql: Sql, { orgId }: { orgId: string }): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(${`audit ${orgId}`}, 0))
  `;
}

export async function findHead(sql: Sql, { orgId }: { orgId: string }): Promise<Head> {
  const [row] = await sql<Head[]>`
    select seq::float8 as seq, hash
      from audit.record
     where org_id = ${orgId}
     order by audit.record.seq desc
     limit 1
  `;
  return row ?? chainStart;
}

/** Whose records have these ids. Of every org: an id has one record, whichever org it is of. */
export async function listHolders(
  sql: Sql,
  { ids }: { ids: readonly string[] },
): Promise<{ id: string; orgId: string }[]> {
  const rows = await sql<{ id: string; org_id: string }[]>`
    select id, org_id
      from audit.record
     where id = any(${ids}::uuid[])
  `;
  return rows.map(({ id, org_id: orgId }) => ({ id, orgId }));
}

/** One parameter however many records: a statement per number of rows would fill the server's cache. */
export async function insertRecords(sql: Sql, records: readonly AuditRecord[]): Promise<void> {
  if (records.length === 0) return;
  await sql`
    insert into audit.record
           (id, org_id, seq, at, type, user_id, identity, credential, service, template, action,
            permission_keys, risk, decision, outcome, error, http_status, duration_ms, description,
            disclosed, approval_id, execution_id, request_id, trace_id, ip, call_id, request_digest,
            count, request, prev_hash, hash)
    select id, org_id, seq, at, type, user_id, identity, credential, service, template, action,
           permission_keys, risk, decision, outcome, error, http_status, duration_ms, description,
           disclosed, approval_id, execution_id, request_id, trace_id, ip, call_id, request_digest,
           count, request, prev_hash, hash
      from jsonb_to_recordset(${sql.json(records)})
        as r (id uuid, org_id uuid, seq bigint, at timestamptz, type text, user_id uuid,
              identity jsonb, credential jsonb, service text, template text, action text,
              permission_keys text[], risk text, decision jsonb, outcome text, error text,
              http_status integer, duration_ms double precision, description text,
              disclosed jsonb, approval_id uuid, execution_id uuid, request_id text,
              trace_id text, ip text, call_id uuid, request_digest text, count integer,
              request jsonb, prev_hash text, hash text)
  `;
}

/** `insertRecords` failed because one of the ids has a record; the transaction is lost with it. */
export function isRecordedAlready(error: unknown): boolean {
  return error instanceof PostgresError && error.constraint_name === 'record_id_key';
}

export interface RecordFilter extends Omit<AuditQuery, 'limit' | 'cursor'> {
  readonly orgId: string;
  /** Only records against this user; null for all of the org. */
  readonly ofUserId: string | null;
}

/** Newest first, before `beforeSeq`. */
export async function listRecords(
  sql: Sql,
  filter: RecordFilter,
  { beforeSeq, limit }: { beforeSeq: number | null; limit: number },
): Promise<AuditRecord[]> {
  const { orgId, ofUserId, identity_id, user_id, approval_id, service, type, outcome } = filter;
  const { risk, since, until, text } = filter;
  const rows = await sql<RecordRow[]>`
    select ${columns(sql)}
      from audit.record
     where org_id = ${orgId}
       ${ofUserId === null ? sql`` : sql`and user_id = ${ofUserId}`}
       ${beforeSeq === null ? sql`` : sql`and seq < ${beforeSeq}`}
       ${identity_id === undefined ? sql`` : sql`and identity ->> 'id' = ${identity_id.toLowerCase()}`}
       ${user_id === undefined ? sql`` : sql`and user_id = ${user_id}`}
       ${approval_id === undefined ? sql`` : sql`and approval_id = ${approval_id}`}
       ${service === undefined ? sql`` : sql`and service = ${service}`}
       ${type === undefined ? sql`` : sql`and type = ${type}`}
       ${outcome === undefined ? sql`` : sql`and outcome = ${outcome}`}
       ${risk === undefined ? sql`` : sql`and risk = ${risk}`}
       ${since === undefined ? sql`` : sql`and at >= ${since}`}
       ${until === undefined ? sql`` : sql`and at < ${until}`}
       ${text === undefined ? sql`` : sql`and position(lower(${text}) in lower(description)) > 0`}
     order by audit.record.seq desc
     limit ${limit}
  `;
  return rows.map(toRecord);
}

/** Those of one call, in the order of the chain; `id` is its call id, or the id of any record. */
export async function listCallRecords(
  sql: Sql,
  {
    orgId,
    ofUserId,
    id,
    limit,
  }: { orgId: string; ofUserId: string | null; id: string; limit: number },
): Promise<AuditRecord[]> {
  const rows = await sql<RecordRow[]>`
    select ${columns(sql)}
      from audit.record
     where org_id = ${orgId}
       and (id = ${id}
            or call_id = ${id}
            or call_id = (select named.call_id
                            from audit.record as named
                           where named.org_id = ${orgId}
                             and named.id = ${id}))
       ${ofUserId === null ? sql`` : sql`and user_id = ${ofUserId}`}
     order by audit.record.seq
     limit ${limit}
  `;
  return rows.map(toRecord);
}

/** In the order of the chain, from after `afterSeq` up to and including `upToSeq`. */
export async function listChainPart(
  sql: Sql,
  {
    orgId,
    afterSeq,
    upToSeq,
    limit,
  }: { orgId: string; afterSeq: number; upToSeq: number; limit: number },
): Promise<AuditRecord[]> {
  const rows = await sql<RecordRow[]>`
    select ${columns(sql)}
      from audit.record
     where org_id = ${orgId}
       and seq > ${afterSeq}
       and seq <= ${upToSeq}
     order by audit.record.seq
     limit ${limit}
  `;
  return rows.map(toRecord);
}

function toRecord(row: RecordRow): AuditRecord {
  return { ...row, at: row.at.toISOString() };
}
