import type { Tables } from '../support/database.ts';

/** The tables of which rows are deleted some time after they were written, with that time in days. */
const tableRetentions = [
  ...['auth', 'registry', 'policy', 'executor', 'approvals', 'notifier'].map((schema) => ({
    table: `${schema}.outbox`,
    column: 'published_at',
    days: 7,
  })),
  { table: 'executor.dispatch', column: 'created_at', days: 1 },
] as const;

/**
 * Makes rows old early: a row that has existed for its retention divided by `compression` is given
 * an age beyond its retention, and the product deletes it as it deletes any old row.
 */
export async function ageRows({ query }: Tables, compression: number): Promise<void> {
  for (const { table, column, days } of tableRetentions) {
    const seconds = (days * 86_400) / compression;
    await query(
      `update ${table}
          set ${column} = ${column} - interval '${days} days'
        where ${column} between now() - interval '${days * 86_400 * 0.9} seconds'
                            and now() - interval '${seconds} seconds'`,
    );
  }
}

export const retainedTables = tableRetentions.map(({ table }) => table);
