import pg from 'pg';

// oxlint-disable-next-line typescript/no-explicit-any -- rows are looked at field by field
export type Query = (statement: string, values?: readonly unknown[]) => Promise<any[]>;

export interface Tables extends AsyncDisposable {
  readonly query: Query;
  /** Every table of every component, as `schema.table`. */
  list(): Promise<string[]>;
  /**
   * The number of rows of each table whose rows are created by requests. Logs, queues and
   * credentials in use are left out.
   */
  count(): Promise<Record<string, number>>;
  /** All rows of a table as text. */
  dump(table: string): Promise<string[]>;
}

/** Tables that every use fills, such as the audit log, which also records refused requests. */
const tablesFilledByUse =
  /\.(outbox|inbox|migration|record|usage|usage_day|feed_item|delivery|session|sign_in_link|sign_in_attempt|sign_in_flow|key_check)$/;

/** Reads the tables as the superuser, so that tests can check what was stored. */
export async function openTables(adminUrl: string): Promise<Tables> {
  const pool = new pg.Pool({ connectionString: adminUrl, max: 2 });
  const query: Query = async (statement, values) =>
    (await pool.query(statement, values as unknown[])).rows;
  const listTables = async () =>
    (
      await query(
        `select schemaname || '.' || tablename as name from pg_tables
          where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
      )
    ).map(({ name }) => name as string);
  return {
    query,
    list: listTables,
    async count() {
      const names = (await listTables()).filter((name) => !tablesFilledByUse.test(name));
      const [row] = await query(
        `select ${names.map((name) => `(select count(*)::int from ${name}) as "${name}"`).join()}`,
      );
      return row;
    },
    dump: async (table) =>
      (await query(`select t::text as row from ${table} t`)).map(({ row }) => row as string),
    [Symbol.asyncDispose]: () => pool.end(),
  };
}
