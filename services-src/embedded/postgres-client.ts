import pg from 'pg';

/**
 * Sends a query over a new connection, and rejects when no answer comes. An error that the server
 * itself reports counts as an answer: a server that has no free connection, or that is recovering,
 * must not be killed.
 */
export async function askPostgres(url: string, timeoutMs: number): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'watch',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
  // The server may end between two steps; the next step then fails, so this event needs no
  // handling.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
  } finally {
    void client.end().catch(() => undefined);
  }
}

/** Creates the database unless it exists. */
export async function createDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows } = await client.query('select from pg_database where datname = $1', [name]);
    if (rows.length === 0) await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
}
