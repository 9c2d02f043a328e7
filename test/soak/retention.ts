import type { Tables } from '../support/database.ts';

/**
 * The tables that calls and approvals fill, and the number of days after which their rows are
 * deleted.
 */
const tableRetentions = [
  ...['auth', 'registry', 'policy', 'executor', 'approvals', 'notifier'].map((schema) => ({
    table: `${schema}.outbox`,
    column: 'published_at',
    days: 7,
  })),
  { table: 'executor.dispatch', column: 'created_at', days: 1 },
  { table: 'executor.idempotency', column: 'created_at', days: 1 },
  { table: 'notifier.feed_item', column: 'created_at', days: 7 },
  { table: 'notifier.inbox', column: 'received_at', days: 8 },
  { table: 'notifier.delivery', column: 'created_at', days: 30 },
] as const;

/**
 * Makes rows old early. When the age of a row reaches its retention time (at most seven days)
 * divided by `compression`, the row is changed so that it looks older than its retention time. Then
 * the product deletes it like any old row.
 */
export async function ageRows({ query }: Tables, compression: number): Promise<void> {
  for (const { table, column, days } of tableRetentions) {
    const seconds = (Math.min(days, 7) * 86_400) / compression;
    await query(
      `update ${table}
          set ${column} = ${column} - interval '${days} days'
        where ${column} between now() - interval '${days * 86_400 * 0.9} seconds'
                            and now() - interval '${seconds} seconds'`,
    );
  }
}

/** Tables from which no rows are deleted. They grow with every call. */
export const keptTables = [
  'approvals.approval',
  'approvals.execution',
  'audit.record',
  'audit.unreadable',
  'audit.unreadable_recorded',
];
