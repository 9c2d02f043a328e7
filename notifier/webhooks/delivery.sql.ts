import type { Delivery } from '#contracts/http/webhooks';
import type { Sql } from '#database';
import type { Backlog } from '#telemetry';

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

/** A delivery that is due. This process has claimed its next attempt until the lease ends. */
export interface DueDelivery {
  readonly id: string;
  readonly orgId: string;
  readonly webhookId: string;
  readonly type: string;
  readonly body: string;
  /** The number of attempts, including the claimed one. */
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

/** Inserts a delivery unless the subscription already has one for the event. */
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

/** Makes deliveries due that were held until the endpoint was verified. */
export async function releaseHeldDeliveries(
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
 * Claims due deliveries for this process. At most `perWebhook` attempts of one subscription run at
 * once, in all processes together, so that an endpoint that does not answer cannot occupy every
 * slot.
 */
export async function claimDueDeliveries(
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

const countedDeliveriesMax = 10_000;

/** The deliveries of all orgs whose next attempt is due but not yet made, counted up to 10,000. */
export async function measureDueDeliveries(sql: Sql): Promise<Backlog> {
  const [row] = await sql<Backlog[]>`
    select count(*)::integer as waiting,
           coalesce(extract(epoch from now() - min(next_attempt_at)), 0)::float8 as "oldestSeconds"
      from (select next_attempt_at
              from notifier.delivery
             where status = 'pending'
               and next_attempt_at <= now()
             order by next_attempt_at
             limit ${countedDeliveriesMax}) as due
  `;
  return row ?? { waiting: 0, oldestSeconds: 0 };
}

/**
 * Stores the result of an attempt. The condition on `attempts` prevents an attempt whose lease has
 * ended from overwriting the result of a later attempt.
 */
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
  const updatedRows = await sql`
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
  return updatedRows.count === 1;
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

/** Restarts a finished delivery. A delivery that is held or pending keeps its attempts. */
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

/**
 * Marks the open deliveries of a disabled subscription as failed. They stay listed and can be sent
 * again.
 */
export async function markOpenDeliveriesFailed(
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

/**
 * Deletes old deliveries of every org, because retention does not depend on the org. Held
 * deliveries are deleted too: otherwise they would pile up for a webhook that nobody ever verifies.
 */
export async function pruneDeliveries(
  sql: Sql,
  { days, limit }: { days: number; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from notifier.delivery
     where id in (select id
                    from notifier.delivery
                   where created_at < now() - make_interval(days => ${days})
                     and status <> 'pending'
                   limit ${limit})
  `;
  return count;
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
