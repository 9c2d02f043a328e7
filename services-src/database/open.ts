import { SpanKind } from '@opentelemetry/api';
import type postgres from 'postgres';

import { startSpan } from '../telemetry/span.ts';
import { postgres as connect } from './driver.ts';

/** A pool or a transaction: what repository functions take first. */
export type Sql = postgres.ISql;

export interface Transaction extends postgres.TransactionSql {
  /** Called by `appendEvent`: the relay is woken when this transaction has committed, at once or soon. */
  markEvents(options: { isUrgent: boolean }): void;
}

export interface Database extends postgres.Sql, AsyncDisposable {
  /** Commits when `work` resolves and rolls back when it throws. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Calls back after each commit that stored events; the relay listens. */
  onEventsCommitted(listener: (options: { isUrgent: boolean }) => void): void;
}

/**
 * Opens a pool on one component's schema.
 *
 * Statements time out after ten seconds, so that a stuck lock becomes an error and not a hang;
 * idle connections close after a minute, because each costs the server some 3 MiB.
 */
export function openDatabase({
  url,
  schema,
  connectionsMax,
  planEachTime = false,
}: {
  url: string;
  schema: string;
  connectionsMax: number;
  /** For a table that grows by thousands a minute: a plan kept from when it was small reads all of it. */
  planEachTime?: boolean;
}): Database {
  const withoutSocket = new URL(url);
  const socketDir = withoutSocket.searchParams.get('host');
  // Whatever is left in the query would be sent to the server as a setting.
  withoutSocket.searchParams.delete('host');
  const sql = connect(withoutSocket.href, {
    // libpq's way to name the folder of a Unix socket, which this client takes as an option only.
    ...(socketDir === null ? {} : { host: socketDir }),
    max: connectionsMax,
    idle_timeout: 60,
    connect_timeout: 5,
    // Reconnecting is quick: a restarted server is used again within a second.
    backoff: (attempt) => Math.min(1, 0.05 * 2 ** attempt),
    onnotice: () => undefined,
    connection: {
      application_name: schema,
      search_path: schema,
      statement_timeout: 10_000,
      idle_in_transaction_session_timeout: 15_000,
      ...(planEachTime ? { plan_cache_mode: 'force_custom_plan' } : {}),
    },
  });
  const listeners = new Set<(options: { isUrgent: boolean }) => void>();

  return Object.assign(sql, {
    transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
      return startSpan(`${schema} transaction`, { kind: SpanKind.CLIENT }, async (span) => {
        try {
          let events: 'none' | 'urgent' | 'patient' = 'none';
          const result = await sql.begin((inner) =>
            work(
              Object.assign(inner, {
                markEvents({ isUrgent }: { isUrgent: boolean }) {
                  if (events !== 'urgent') events = isUrgent ? 'urgent' : 'patient';
                },
              }),
            ),
          );
          if (events !== 'none') {
            for (const listener of listeners) listener({ isUrgent: events === 'urgent' });
          }
          return result as T;
        } finally {
          span.end();
        }
      });
    },
    onEventsCommitted(listener: (options: { isUrgent: boolean }) => void) {
      listeners.add(listener);
    },
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 5 });
    },
  });
}
