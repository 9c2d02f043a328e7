import type { Tables } from '../support/database.ts';

/** The tables that calls and approvals fill, and after how many days their rows are deleted. */
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
 * Makes rows old early: a row that has existed for its retention, of which seven days count at most,
 * divided by `compression` is given an age beyond its retention, and the product deletes it as it
 * deletes any old row.
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

/** The tables whose rows nothing deletes, so that they grow with what is done. */
export const keptTables = [
  'approvals.approval',
  'approvals.execution',
  'audit.record',
  'audit.unreadable',
  'audit.unreadable_recorded',
];
