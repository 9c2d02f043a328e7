import type { AuditRecord } from '#contracts/audit';
import type { AuditQuery } from '#contracts/http/audit';
import { PostgresError } from '#database';
import type { Sql } from '#database';
import { chainStart } from './domain/chain.ts';
import type { ChainHead } from './domain/chain.ts';

type RecordRow = Omit<AuditRecord, 'at'> & { at: Date };

/** `seq` is returned as a JavaScript number: no org writes 2^53 records. */
const recordColumns = (sql: Sql) => sql`
  id, org_id, seq::float8 as seq, at, type, user_id, identity, credential, service, template,
  action, permission_keys, risk, decision, outcome, error, http_status, duration_ms, description,
  disclosed, approval_id, execution_id, request_id, trace_id, ip, call_id, request_digest, count,
  request, failure, unread, prev_hash, hash
`;

/**
 * Admits one writer per org until the transaction ends, so that `seq` has no gaps and the chain no
 * forks.
 */
export async function lockChain(sql: Sql, { orgId }: { orgId: string }): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(${`audit ${orgId}`}, 0))
  `;
}

export async function findChainHead(sql: Sql, { orgId }: { orgId: string }): Promise<ChainHead> {
  const [row] = await sql<ChainHead[]>`
    select seq::float8 as seq, hash
      from audit.record
     where org_id = ${orgId}
     order by audit.record.seq desc
     limit 1
  `;
  return row ?? chainStart;
}

/**
 * Finds which orgs have records with these ids. It searches all orgs, because an id is unique
 * across orgs.
 */
export async function listOrgsOfRecords(
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

/**
 * The names of the columns that are not null in one record, including columns of a later release.
 */
export async function listFilledColumns(
  sql: Sql,
  { orgId, seq }: { orgId: string; seq: number },
): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select key as name
      from audit.record,
           lateral jsonb_each(to_jsonb(record)) as filled (key, value)
     where org_id = ${orgId}
       and seq = ${seq}
       and filled.value <> 'null'::jsonb
  `;
  return rows.map(({ name }) => name);
}

/**
 * Inserts all records through one JSON parameter. A statement with one parameter per column would
 * differ with every number of rows and fill the server's plan cache.
 */
export async function insertRecords(sql: Sql, records: readonly AuditRecord[]): Promise<void> {
  if (records.length === 0) return;
  await sql`
    insert into audit.record
           (id, org_id, seq, at, type, user_id, identity, credential, service, template, action,
            permission_keys, risk, decision, outcome, error, http_status, duration_ms, description,
            disclosed, approval_id, execution_id, request_id, trace_id, ip, call_id, request_digest,
            count, request, failure, unread, prev_hash, hash)
    select id, org_id, seq, at, type, user_id, identity, credential, service, template, action,
           permission_keys, risk, decision, outcome, error, http_status, duration_ms, description,
           disclosed, approval_id, execution_id, request_id, trace_id, ip, call_id, request_digest,
           count, request, failure, unread, prev_hash, hash
      from jsonb_to_recordset(${sql.json(records)})
        as r (id uuid, org_id uuid, seq bigint, at timestamptz, type text, user_id uuid,
              identity jsonb, credential jsonb, service text, template text, action text,
              permission_keys text[], risk text, decision jsonb, outcome text, error text,
              http_status integer, duration_ms double precision, description text,
              disclosed jsonb, approval_id uuid, execution_id uuid, request_id text,
              trace_id text, ip text, call_id uuid, request_digest text, count integer,
              request jsonb, failure text, unread text, prev_hash text, hash text)
  `;
}

/**
 * Whether `insertRecords` failed because one of the ids already has a record. The transaction must
 * then be rolled back.
 */
export function isAlreadyRecordedError(error: unknown): boolean {
  return error instanceof PostgresError && error.constraint_name === 'record_id_key';
}

export interface RecordFilter extends Omit<AuditQuery, 'limit' | 'cursor'> {
  readonly orgId: string;
  /** Limits the result to the records of this user; null gives the records of the whole org. */
  readonly ofUserId: string | null;
}

/** Lists the records before `beforeSeq`, newest first. */
export async function listRecords(
  sql: Sql,
  filter: RecordFilter,
  { beforeSeq, limit }: { beforeSeq: number | null; limit: number },
): Promise<AuditRecord[]> {
  const { orgId, ofUserId, identity_id, user_id, approval_id, service, type, outcome } = filter;
  const { risk, since, until, text } = filter;
  const rows = await sql<RecordRow[]>`
    select ${recordColumns(sql)}
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

/**
 * Lists the records of one call in the order of the chain. `id` is the call id or the id of one of
 * the records.
 */
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
    select ${recordColumns(sql)}
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

/**
 * Lists records in the order of the chain, from `afterSeq` (exclusive) to `upToSeq` (inclusive).
 */
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
    select ${recordColumns(sql)}
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
