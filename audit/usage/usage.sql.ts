import { usageKeysMax } from '#contracts/http/audit';
import type { UsageBucket, UsageItem, UsageKind } from '#contracts/http/audit';
import type { Sql } from '#database';
import type { UsageRange } from './domain/usage-range.ts';

interface UsageFilter extends UsageRange {
  readonly orgId: string;
  /** Limits the result to the calls of this user's tree; null gives those of the whole org. */
  readonly ofUserId: string | null;
  readonly bucket: UsageBucket;
  readonly by: UsageKind;
}

interface UsageRow {
  readonly bucket: Date;
  readonly key: string;
  readonly name: string | null;
  readonly count: number;
  /**
   * The number of keys without a row, and the number of their calls. They are the same in every
   * row.
   */
  readonly left_out_keys: number;
  readonly left_out_count: number;
}

const keyColumnOf = (sql: Sql, by: UsageKind) =>
  ({ outcome: sql`outcome`, agent: sql`identity_id`, service: sql`service` })[by];

/**
 * The newest name of an identity. Only agents have names: sorting for a name would double the time
 * of the other kinds.
 */
const newestNameOf = (sql: Sql, by: UsageKind, name: 'name' | 'identity_name', time: string) =>
  by === 'agent' ? sql`(array_agg(${sql(name)} order by ${sql(time)} desc))[1]` : sql`null::text`;

/**
 * Sums up the counts of each bucket and key, for the keys with the most calls. By agent and by
 * service, a call counts once, when it is made. By outcome, what became of a suspended call counts
 * too. Whole days are read from the counts per day, which are fewer.
 */
export async function listUsage(
  sql: Sql,
  filter: UsageFilter,
): Promise<{ items: UsageItem[]; left_out: { keys: number; count: number } }> {
  const { orgId, ofUserId, from, to, bucket, by } = filter;
  const days = bucket === 'day' ? wholeDaysIn(filter) : { from: to, to };
  const rows = await sql<UsageRow[]>`
    with part as (
           select date_trunc(${bucket}, hour, 'UTC') as bucket, ${keyColumnOf(sql, by)} as key,
                  sum(count)::float8 as count, max(hour) as last_hour,
                  ${newestNameOf(sql, by, 'identity_name', 'hour')} as name
             from audit.usage
            where org_id = ${orgId}
              and ((hour >= ${from} and hour < ${days.from}) or (hour >= ${days.to} and hour < ${to}))
              ${ofUserId === null ? sql`` : sql`and user_id = ${ofUserId}`}
              ${by === 'outcome' ? sql`` : sql`and not follows_approval`}
            group by 1, 2
            union all
           select day, key, sum(count)::float8, day, ${newestNameOf(sql, by, 'name', 'day')}
             from audit.usage_day
            where org_id = ${orgId}
              and kind = ${by}
              and day >= ${days.from}
              and day < ${days.to}
              ${ofUserId === null ? sql`` : sql`and user_id = ${ofUserId}`}
            group by day, key),
         total as (
           select key, sum(count) as count,
                  (array_agg(name order by last_hour desc))[1] as name,
                  row_number() over (order by sum(count) desc, key) as position
             from part
            group by key)
    select part.bucket, part.key, total.name, part.count,
           (select count(*)::integer from total where position > ${usageKeysMax}) as left_out_keys,
           (select coalesce(sum(count), 0)::float8 from total where position > ${usageKeysMax})
             as left_out_count
      from part
           join total using (key)
     where total.position <= ${usageKeysMax}
     order by part.bucket, total.position
  `;
  const [first] = rows;
  return {
    items: rows.map((row) => ({
      bucket: row.bucket.toISOString(),
      key: row.key === '' ? null : row.key,
      ...(by === 'agent' && { name: row.name ?? '' }),
      count: row.count,
    })),
    left_out: { keys: first?.left_out_keys ?? 0, count: first?.left_out_count ?? 0 },
  };
}

/** The whole days in the range: from the first start of a day to the last one. */
function wholeDaysIn({ from, to }: UsageRange): UsageRange {
  const firstMs = Math.ceil(from.getTime() / dayMs) * dayMs;
  const endMs = Math.floor(to.getTime() / dayMs) * dayMs;
  return firstMs < endMs ? { from: new Date(firstMs), to: new Date(endMs) } : { from: to, to };
}

const dayMs = 86_400_000;

/**
 * Deletes counts that are too old to be requested. Returns how many were deleted, at most `limit`.
 */
export async function forgetOldUsage(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select audit.forget_usage(${limit})::integer as count
  `;
  return row.count;
}
