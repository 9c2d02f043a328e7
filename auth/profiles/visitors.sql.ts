import type { Sql } from '#database';

interface UserKey {
  readonly orgId: string;
  readonly identityId: string;
}

export interface Visitor {
  readonly previousVisitAt: Date | null;
  readonly checklistDismissed: boolean;
}

/** If the user was last seen longer ago than this, the next request begins a new visit. */
const visitGapMinutes = 30;

export async function findVisitor(
  sql: Sql,
  { orgId, identityId }: UserKey,
): Promise<Visitor | undefined> {
  const [row] = await sql<Visitor[]>`
    select previous_visit_at as "previousVisitAt",
           checklist_dismissed_at is not null as "checklistDismissed"
      from auth.visitor
     where org_id = ${orgId}
       and identity_id = ${identityId}
  `;
  return row;
}

/**
 * Records that the user was seen now. If the user was last seen long ago, a new visit begins, and
 * the previous visit ended when the user was last seen. Of several parallel requests, only one
 * begins the visit, because each statement sees the row that the statement before it has written.
 */
export async function noteSign(sql: Sql, { orgId, identityId }: UserKey): Promise<void> {
  await sql`
    insert into auth.visitor as v (org_id, identity_id, last_sign_at)
    values (${orgId}, ${identityId}, now())
        on conflict (org_id, identity_id) do update
       set last_sign_at = greatest(v.last_sign_at, excluded.last_sign_at),
           previous_visit_at =
             case when v.last_sign_at < now() - make_interval(mins => ${visitGapMinutes})
                  then v.last_sign_at
                  else v.previous_visit_at
             end
  `;
}

export async function setChecklistDismissed(
  sql: Sql,
  { orgId, identityId, dismissed }: UserKey & { dismissed: boolean },
): Promise<void> {
  await sql`
    insert into auth.visitor as v (org_id, identity_id, checklist_dismissed_at)
    values (${orgId}, ${identityId}, case when ${dismissed}::boolean then now() end)
        on conflict (org_id, identity_id) do update
       set checklist_dismissed_at = excluded.checklist_dismissed_at
  `;
}
