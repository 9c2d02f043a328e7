import { settleWithin } from '../process/within.ts';
import type postgres from './postgres-driver/index.js';

export interface Probe extends AsyncDisposable {
  /** Sends a query. Rejects when it is not answered in time. */
  ask<T>(
    options: { withinMs: number },
    query: (connection: postgres.Sql) => Promise<T>,
  ): Promise<T>;
  /** Postgres's clock, in ms since 1970. Rejects when it does not answer in time. */
  readTime(options: { withinMs: number }): Promise<number>;
}

/**
 * Asks a database over a separate connection, where no other query can delay the question. After a
 * failure, the next question opens a new connection, because a connection that was cut off without
 * notice would never answer.
 */
export function openProbe(connect: () => postgres.Sql): Probe {
  let connection: postgres.Sql | undefined;
  const closeConnection = async (): Promise<void> => {
    const closingConnection = connection;
    connection = undefined;
    await closingConnection?.end({ timeout: 0 });
  };
  const ask: Probe['ask'] = async ({ withinMs }, query) => {
    try {
      connection ??= connect();
      return await settleWithin(withinMs, query(connection));
    } catch (error) {
      void closeConnection().catch(() => undefined);
      throw error;
    }
  };
  return {
    ask,
    async readTime(options) {
      const rows = await ask(
        options,
        (sql) => sql<{ time: number }[]>`
          select extract(epoch from clock_timestamp())::float8 * 1000 as time
        `,
      );
      return (rows[0] as { time: number }).time;
    },
    [Symbol.asyncDispose]: closeConnection,
  };
}
