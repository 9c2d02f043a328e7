import type { Webhook } from '#contracts/http/webhooks';
import type { Sql } from '#database';

interface WebhookRow {
  id: string;
  org_id: string;
  subtree_of: string | null;
  url: string;
  events: string[];
  description: string | null;
  status: Webhook['status'];
  disabled_reason: string | null;
  created_by: string;
  created_at: Date;
}

/**
 * A webhook as the API shows it, and the identity to whose events it is limited (null: the whole
 * org).
 */
export interface StoredWebhook {
  readonly webhook: Webhook;
  readonly subtreeId: string | null;
}

const columns = [
  'id',
  'org_id',
  'subtree_of',
  'url',
  'events',
  'description',
  'status',
  'disabled_reason',
  'created_by',
  'created_at',
];

export async function insertWebhook(
  sql: Sql,
  webhook: {
    id: string;
    orgId: string;
    subtreeId: string | null;
    url: string;
    events: string[];
    description: string | null;
    challenge: string;
    createdBy: string;
  },
): Promise<StoredWebhook> {
  const [row] = await sql<[WebhookRow]>`
    insert into notifier.webhook
           (id, org_id, subtree_of, url, events, description, challenge, created_by)
    values (${webhook.id}, ${webhook.orgId}, ${webhook.subtreeId}, ${webhook.url},
            ${webhook.events}, ${webhook.description}, ${webhook.challenge}, ${webhook.createdBy})
    returning ${sql(columns)}
  `;
  return toWebhook(row);
}

/** Lists the subscriptions of the org, or of one member, newest first. */
export async function listWebhooks(
  sql: Sql,
  page: { orgId: string; subtreeId: string | null; before: string | null; limit: number },
): Promise<StoredWebhook[]> {
  const rows = await sql<WebhookRow[]>`
    select ${sql(columns)}
      from notifier.webhook
     where org_id = ${page.orgId}
       and (${page.subtreeId}::uuid is null or subtree_of = ${page.subtreeId})
       and (${page.before}::uuid is null or id < ${page.before})
     order by id desc
     limit ${page.limit}
  `;
  return rows.map(toWebhook);
}

/**
 * Counts the subscriptions of the org and of one member. A lock prevents further inserts until the
 * transaction ends.
 */
export async function countWebhooks(
  sql: Sql,
  { orgId, subtreeId: subtreeOf }: { orgId: string; subtreeId: string | null },
): Promise<{ all: number; own: number }> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`webhooks ${orgId}`}, 0))`;
  const [row] = await sql<[{ all: number; own: number }]>`
    select count(*)::int as all,
           count(*) filter (where subtree_of = ${subtreeOf})::int as own
      from notifier.webhook
     where org_id = ${orgId}
  `;
  return row;
}

export async function findWebhook(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<StoredWebhook | undefined> {
  const [row] = await sql<WebhookRow[]>`
    select ${sql(columns)}
      from notifier.webhook
     where org_id = ${orgId}
       and id = ${id}
  `;
  return row && toWebhook(row);
}

/** Lists the subscriptions of an org that are not disabled. */
export async function listEnabledWebhooks(
  sql: Sql,
  { orgId }: { orgId: string },
): Promise<StoredWebhook[]> {
  const rows = await sql<WebhookRow[]>`
    select ${sql(columns)}
      from notifier.webhook
     where org_id = ${orgId}
       and status <> 'disabled'
     limit 1000
  `;
  return rows.map(toWebhook);
}

/** Returns the challenge that the endpoint must send back to be verified. */
export async function getChallenge(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<string> {
  const [row] = await sql<[{ challenge: string }]>`
    select challenge
      from notifier.webhook
     where org_id = ${orgId}
       and id = ${id}
  `;
  return row.challenge;
}

export async function deleteWebhook(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<boolean> {
  const result = await sql`
    delete from notifier.webhook
     where org_id = ${orgId}
       and id = ${id}
  `;
  return result.count === 1;
}

/**
 * Locks the subscription against concurrent changes to it or its deliveries; returns false if it
 * was deleted. The subscription is locked before its deliveries, in the same order as a deletion
 * locks them.
 */
export async function lockWebhook(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<boolean> {
  const rows = await sql`
    select 1
      from notifier.webhook
     where org_id = ${orgId}
       and id = ${id}
       for no key update
  `;
  return rows.length === 1;
}

/** Changes a subscription from pending to active; returns false if it was not pending. */
export async function activateWebhook(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<boolean> {
  const result = await sql`
    update notifier.webhook
       set status = 'active', failing_since = null
     where org_id = ${orgId}
       and id = ${id}
       and status = 'pending_verification'
  `;
  return result.count === 1;
}

/** Makes a disabled subscription pending, so that it is verified again. */
export async function reopenWebhook(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<void> {
  await sql`
    update notifier.webhook
       set status = 'pending_verification', disabled_reason = null, failing_since = null
     where org_id = ${orgId}
       and id = ${id}
       and status = 'disabled'
  `;
}

export async function disableWebhook(
  sql: Sql,
  { orgId, id, reason }: { orgId: string; id: string; reason: string },
): Promise<boolean> {
  const result = await sql`
    update notifier.webhook
       set status = 'disabled', disabled_reason = ${reason}
     where org_id = ${orgId}
       and id = ${id}
       and status <> 'disabled'
  `;
  return result.count === 1;
}

/** Records a successful delivery. */
export async function markHealthy(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<void> {
  await sql`
    update notifier.webhook
       set failing_since = null
     where org_id = ${orgId}
       and id = ${id}
       and failing_since is not null
  `;
}

/**
 * Records a failed delivery. Returns the seconds since the first failure after the last success.
 */
export async function markFailing(
  sql: Sql,
  { orgId, id }: { orgId: string; id: string },
): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    update notifier.webhook
       set failing_since = coalesce(failing_since, now())
     where org_id = ${orgId}
       and id = ${id}
    returning extract(epoch from now() - failing_since)::float8 as seconds
  `;
  return row?.seconds ?? 0;
}

function toWebhook(row: WebhookRow): StoredWebhook {
  const { subtree_of: subtreeOf, created_at: createdAt, ...webhook } = row;
  return { subtreeId: subtreeOf, webhook: { ...webhook, created_at: createdAt.toISOString() } };
}
