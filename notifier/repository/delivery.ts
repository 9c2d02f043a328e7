import type { Delivery } from '#contracts/http/webhooks';
import type { Sql } from '#database';

interface DeliveryRow {
  id: string;
  webhook_id: string;
  event_id: string;
  type: string;
  status: Delivery['status'];
  attempts: number;
  next_attempt_at: Date | null;
  last_status_code: number | null;
  last_error: string | null;
  created_at: Date;
  delivered_at: Date | null;
  body: string;
}

/** One attempt, claimed by this process until its lease ends. */
export interface DueDelivery {
  readonly id: string;
  readonly orgId: string;
  readonly webhookId: string;
  readonly type: string;
  readonly body: string;
  /** This attempt included. */
  readonly attempts: number;
  readonly url: string;
  readonly challenge: string;
}

const columns = [
  'id',
  'webhook_id',
  'event_id',
  'type',
  'status',
  'attempts',
  'next_attempt_at',
  'last_status_code',
  'last_error',
  'created_at',
  'delivered_at',
  'body',
];

/** At most once per subscription and event, however often the event is read. */
export async function insertDelivery(
  sql: Sql,
  delivery: {
    id: string;
    orgId: string;
    webhookId: string;
    eventId: string;
    type: string;
    body: string;
    status: 'held' | 'pending';
  },
): Promise<void> {
  await sql`
    insert into notifier.delivery
           (id, org_id, webhook_id, event_id, type, body, status, next_attempt_at)
    values (${delivery.id}, ${delivery.orgId}, ${delivery.webhookId}, ${delivery.eventId},
            ${delivery.type}, ${delivery.body}, ${delivery.status},
            ${delivery.status === 'pending' ? sql`now()` : null})
        on conflict on constraint delivery_once_per_event do nothing
  `;
}

/** What was held until the endpoint was verified may go out now. */
export async function releaseHeld(
  sql: Sql,
  { orgId, webhookId }: { orgId: string; webhookId: string },
): Promise<void> {
  await sql`
    update notifier.delivery
       set status = 'pending', next_attempt_at = now()
     where org_id = ${orgId}
       and webhook_id = ${webhookId}
       and status = 'held'
  `;
}

/**
 * Claims due deliveries for this process. `perWebhook` keeps one dead endpoint from taking all
 * the places: at most so many of its attempts are under way at once, whoever makes them.
 */
export async function claimDue(
  sql: Sql,
  { limit, perWebhook, leaseSeconds }: { limit: number; perWebhook: number; leaseSeconds: number },
): Promise<DueDelivery[]> {
  return sql<DueDelivery[]>`
    with due as (
      select d.id
        from notifier.delivery d
       where d.status = 'pending'
         and d.next_attempt_at <= now()
         and (d.lease_until is null or d.lease_until < now())
         and (select count(*)
                from notifier.delivery busy
               where busy.webhook_id = d.webhook_id
                 and busy.status = 'pending'
                 and busy.lease_until > now()) < ${perWebhook}
       order by d.next_attempt_at
       limit ${limit}
         for update of d skip locked
    )
    update notifier.delivery d
       set attempts = attempts + 1,
           lease_until = now() + make_interval(secs => ${leaseSeconds})
      from due, notifier.webhook w
     where d.id = due.id
       and w.id = d.webhook_id
       and w.org_id = d.org_id
    returning d.id, d.org_id as "orgId", d.webhook_id as "webhookId", d.type, d.body, d.attempts,
              w.url, w.challenge
  `;
}

/** The `attempts` guard: an attempt whose lease has passed may not overwrite its successor's result. */
export async function finishDelivery(
  sql: Sql,
  result: {
    orgId: string;
    id: string;
    attempts: number;
    status: 'delivered' | 'failed' | 'pending';
    inSeconds: number | null;
    statusCode: number | null;
    error: string | null;
  },
): Promise<boolean> {
  const done = await sql`
    update notifier.delivery
       set status = ${result.status},
           lease_until = null,
           next_attempt_at = case when ${result.inSeconds}::float8 is null then null
                                  else now() + make_interval(secs => ${result.inSeconds}) end,
           delivered_at = case when ${result.status} = 'delivered' then now() end,
           last_status_code = ${result.statusCode},
           last_error = ${result.error}
     where org_id = ${result.orgId}
       and id = ${result.id}
       and attempts = ${result.attempts}
       and status = 'pending'
  `;
  return done.count === 1;
}

export async function listDeliveries(
  sql: Sql,
  page: { orgId: string; webhookId: string; before: string | null; limit: number },
): Promise<Delivery[]> {
  const rows = await sql<DeliveryRow[]>`
    select ${sql(columns)}
      from notifier.delivery
     where org_id = ${page.orgId}
       and webhook_id = ${page.webhookId}
       and (${page.before}::uuid is null or id < ${page.before})
     order by id desc
     limit ${page.limit}
  `;
  return rows.map(toDelivery);
}

/** Starts a finished delivery over; one under way stays as it is. */
export async function restartDelivery(
  sql: Sql,
  { orgId, webhookId, id }: { orgId: string; webhookId: string; id: string },
): Promise<Delivery | undefined> {
  const [row] = await sql<DeliveryRow[]>`
    update notifier.delivery
       set status = case when status = 'held' then status else 'pending' end,
           attempts = case when status in ('delivered', 'failed') then 0 else attempts end,
           next_attempt_at = case when status = 'held' then null else now() end,
           delivered_at = null
     where org_id = ${orgId}
       and webhook_id = ${webhookId}
       and id = ${id}
    returning ${sql(columns)}
  `;
  return row && toDelivery(row);
}

/** A subscription that ended takes its open deliveries along; they stay listed and can be sent again. */
export async function failOpenDeliveries(
  sql: Sql,
  { orgId, webhookId, error }: { orgId: string; webhookId: string; error: string },
): Promise<void> {
  await sql`
    update notifier.delivery
       set status = 'failed', next_attempt_at = null, last_error = ${error}
     where org_id = ${orgId}
       and webhook_id = ${webhookId}
       and status in ('held', 'pending')
  `;
}

/** Of all orgs: retention, not access. */
export async function pruneDeliveries(sql: Sql, { days }: { days: number }): Promise<void> {
  await sql`
    delete from notifier.delivery
     where id in (select id
                    from notifier.delivery
                   where created_at < now() - make_interval(days => ${days})
                     and status in ('delivered', 'failed')
                   limit 5000)
  `;
}

function toDelivery({ next_attempt_at, created_at, delivered_at, ...row }: DeliveryRow): Delivery {
  return {
    ...row,
    body: JSON.parse(row.body) as Delivery['body'],
    next_attempt_at: next_attempt_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
    delivered_at: delivered_at?.toISOString() ?? null,
  };
}
