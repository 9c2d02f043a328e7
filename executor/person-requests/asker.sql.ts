import type { IdentityReference } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { requestColumns, toRequest } from './person-request-row.sql.ts';
import type { PersonRequest, Row } from './person-request-row.sql.ts';

interface RequestKey {
  readonly orgId: string;
  readonly id: string;
}

/**
 * Subagents of an agent that has asked already take no place among the askers, so the readers of a
 * request need their own limit.
 */
const readersMax = 200;

/**
 * Adds an identity that asks for the same as an open request, with its chain, so that the chain can
 * follow the request.
 */
export async function addAsker(
  sql: Sql,
  {
    orgId,
    id,
    asker,
    chainIds,
  }: RequestKey & { readonly asker: IdentityReference; readonly chainIds: readonly string[] },
): Promise<PersonRequest> {
  const [row] = await sql<Row[]>`
    update executor.person_request
       set also_asked_by = also_asked_by || ${sql.json([{ ...asker }])},
           asker_chains = asker_chains || ${sql.json([[...chainIds]])},
           audience = array(select distinct unnest(audience || ${[...chainIds]}::uuid[]))
     where org_id = ${orgId}
       and id = ${id}
    returning ${requestColumns(sql)}
  `;
  if (!row) throw new Error('a locked request is gone');
  return toRequest(row);
}

/**
 * If an identity's agent is among the askers already, lets the identity see the request, unless
 * there are too many readers.
 */
export async function addReader(
  sql: Sql,
  { orgId, id, chainIds }: RequestKey & { readonly chainIds: readonly string[] },
): Promise<void> {
  await sql`
    update executor.person_request
       set audience = array(select distinct unnest(audience || ${[...chainIds]}::uuid[]))
     where org_id = ${orgId}
       and id = ${id}
       and cardinality(audience) < ${readersMax}
  `;
}

/** Locks an open request; undefined when it is closed or expired. */
export async function lockOpenRequest(
  sql: Sql,
  { orgId, id }: RequestKey,
): Promise<PersonRequest | undefined> {
  const [row] = await sql<Row[]>`
    select ${requestColumns(sql)}
      from executor.person_request
     where org_id = ${orgId}
       and id = ${id}
       and status = 'open'
       and expires_at > now()
       for update
  `;
  return row && toRequest(row);
}

/**
 * Removes these identities from the askers of open requests, so that none of them becomes a
 * requester later.
 */
export async function removeAskers(
  sql: Sql,
  { orgId, identityIds }: { orgId: string; identityIds: readonly string[] },
): Promise<void> {
  const ids = [...identityIds];
  await sql`
    update executor.person_request
       set also_asked_by = (select coalesce(jsonb_agg(asker order by place), '[]')
                              from jsonb_array_elements(also_asked_by)
                                   with ordinality as asked (asker, place)
                             where not asker ->> 'id' = any(${ids})),
           asker_chains = (select coalesce(jsonb_agg(chain order by place), '[]')
                             from jsonb_array_elements(asker_chains)
                                  with ordinality as asked (chain, place)
                            where not chain ->> -1 = any(${ids}))
     where org_id = ${orgId}
       and audience && ${ids}::uuid[]
       and status = 'open'
       and exists (select from jsonb_array_elements(also_asked_by) as asker
                    where asker ->> 'id' = any(${ids}))
  `;
}

/**
 * Makes an asker the requester of a locked request. Removes the reason and the actions, because the
 * earlier requester wrote them, and the askers in `leavingIds`.
 */
export async function replaceRequester(
  sql: Sql,
  request: PersonRequest,
  { next, leavingIds }: { next: IdentityReference; leavingIds: readonly string[] },
): Promise<PersonRequest> {
  const { orgId, id, userId } = request;
  const isStaying = (askerId: string | undefined) =>
    askerId !== undefined && askerId !== next.id && !leavingIds.includes(askerId);
  const alsoAskedBy = request.alsoAskedBy.filter((asker) => isStaying(asker.id));
  const askerChains = request.askerChains.filter((chain) => isStaying(chain.at(-1)));
  const chainIds = request.askerChains.find((chain) => chain.at(-1) === next.id) ?? [
    ...new Set([userId, next.id]),
  ];
  const [row] = await sql<Row[]>`
    update executor.person_request
       set requester_id = ${next.id}, requester = ${sql.json({ ...next })},
           chain_ids = ${[...chainIds]}::uuid[], reason = null, actions = '{}',
           also_asked_by = ${sql.json(alsoAskedBy.map((asker) => ({ ...asker })))},
           asker_chains = ${sql.json(askerChains.map((chain) => [...chain]))}
     where org_id = ${orgId}
       and id = ${id}
    returning ${requestColumns(sql)}
  `;
  if (!row) throw new Error('a locked request is gone');
  // The link on which the person enters the secret shows the requester as well.
  await sql`
    update executor.secret_request
       set requester_id = ${next.id}, requested_by = ${sql.json({ ...next })}, reason = null,
           audience = array(select distinct unnest(audience || ${[...chainIds]}::uuid[]))
     where org_id = ${orgId}
       and id = ${id}
       and provided_at is null
  `;
  return toRequest(row);
}
