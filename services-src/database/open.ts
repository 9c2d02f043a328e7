import { SpanKind } from '@opentelemetry/api';
import type { SpanOptions } from '@opentelemetry/api';

import { AppError } from '../errors/index.ts';
import { observe } from '../telemetry/metrics.ts';
import { startSpan } from '../telemetry/span.ts';
import postgres from './postgres-driver/index.js';
import { parseDatabaseUrl } from './address.ts';
import { openProbe } from './probe.ts';
import type { Probe } from './probe.ts';
import { sessionSettingsOf } from './session.ts';

/** The error that a statement rejects with when the server refuses it. */
export const { PostgresError } = postgres;

/** A pool or a transaction, which repository functions take as their first argument. */
export type Sql = postgres.ISql;

export interface Transaction extends postgres.TransactionSql {
  /**
   * Called by `appendEvent`: after this transaction has committed, wakes the relay, at once if an
   * event is urgent.
   */
  markEvents(options: { isUrgent: boolean }): void;
}

export interface Database extends postgres.Sql, AsyncDisposable {
  /** Commits when `work` resolves and rolls back when it throws. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /** Called after a statement that stored events and committed by itself; wakes the relay. */
  markEvents(options: { isUrgent: boolean }): void;
  /** Calls the listener after each commit that stored events; the relay uses it. */
  onEventsCommitted(listener: (options: { isUrgent: boolean }) => void): void;
  /**
   * Asks the server over a separate connection, because all connections of the pool may be in use.
   */
  readonly probe: Pick<Probe, 'ask' | 'readTime'>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly schema: string;
  readonly connectionsMax: number;
  /**
   * Makes a new query plan for each execution. A plan that is kept may read a whole table that was
   * small when the plan was made and has grown since.
   */
  readonly planEachTime?: boolean;
  /**
   * The URL leads to a pooler, so every transaction may have another session. No statement is
   * prepared then, and the settings of sessions are stored with the role (session.ts).
   */
  readonly isPooled?: boolean;
}

/**
 * Opens a pool on one component's schema. Idle connections close after a minute, because each costs
 * the server some 3 MiB.
 */
export function openDatabase(given: DatabaseOptions): Database {
  const { schema } = given;
  const { url, options } = readDriverOptions(given);
  const sql = postgres(url, { ...options, max: given.connectionsMax });
  const probe = openProbe(() => postgres(url, { ...options, max: 1 }));
  const poolMetrics = observePool(schema, sql);
  const listeners = new Set<(options: { isUrgent: boolean }) => void>();
  const markEvents = (options: { isUrgent: boolean }) => {
    for (const listener of listeners) listener(options);
  };

  return Object.assign(sql, {
    transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
      return startSpan(`${schema} transaction`, spanOptionsOf(schema), async (span) => {
        try {
          let eventUrgency: 'none' | 'urgent' | 'patient' = 'none';
          let isCommitting = false;
          const result = await sql
            .begin(async (innerTransaction) => {
              const workResult = await work(
                Object.assign(innerTransaction, {
                  markEvents({ isUrgent }: { isUrgent: boolean }) {
                    if (eventUrgency !== 'urgent') eventUrgency = isUrgent ? 'urgent' : 'patient';
                  },
                }),
              );
              isCommitting = true;
              return workResult;
            })
            .catch((error: unknown) => {
              throw isCommitting ? errorOfCommit(error) : error;
            });
          if (eventUrgency !== 'none') markEvents({ isUrgent: eventUrgency === 'urgent' });
          return result as T;
        } finally {
          span.end();
        }
      });
    },
    markEvents,
    onEventsCommitted(listener: (options: { isUrgent: boolean }) => void) {
      listeners.add(listener);
    },
    probe,
    async [Symbol.asyncDispose]() {
      poolMetrics[Symbol.dispose]();
      await probe[Symbol.asyncDispose]();
      await sql.end({ timeout: 5 });
    },
  });
}

/** The options of the driver for each connection. */
function readDriverOptions({
  url,
  schema,
  planEachTime = false,
  isPooled = false,
}: DatabaseOptions) {
  const address = parseDatabaseUrl(url);
  const urlWithoutSocket = new URL(address.url);
  const socketDir = urlWithoutSocket.searchParams.get('host');
  // The driver would send all other query parameters of the URL to the server as settings.
  urlWithoutSocket.searchParams.delete('host');
  return {
    url: urlWithoutSocket.href,
    options: {
      // libpq names the folder of a Unix socket in the URL; this driver takes it as an option only.
      ...(socketDir === null ? {} : { host: socketDir }),
      ssl: address.ssl,
      idle_timeout: 60,
      connect_timeout: 5,
      // The delay between attempts stays short, so that a restarted server is used again within a
      // second.
      backoff: (attempt: number) => Math.min(1, 0.05 * 2 ** attempt),
      onnotice: () => undefined,
      prepare: !isPooled,
      connection: {
        application_name: schema,
        ...(isPooled ? {} : sessionSettingsOf(schema)),
        // The server plans a statement that is not prepared each time anyway.
        ...(planEachTime && !isPooled ? { plan_cache_mode: 'force_custom_plan' } : {}),
      },
    },
  };
}

/** By OpenTelemetry's conventions for database clients. */
function spanOptionsOf(schema: string): SpanOptions {
  const attributes = { 'db.system.name': 'postgresql', 'db.namespace': schema };
  return { kind: SpanKind.CLIENT, attributes };
}

function observePool(name: string, sql: Pick<postgres.Sql, 'pool'>): Disposable {
  const labels = { 'db.client.connection.pool.name': name };
  const metrics = new DisposableStack();
  metrics.use(
    observe('db.client.connection.count', () => {
      const pool = sql.pool();
      return (['used', 'idle'] as const).map((state) => ({
        value: pool[state],
        labels: { ...labels, 'db.client.connection.state': state },
      }));
    }),
  );
  metrics.use(observe('db.client.connection.max', () => [{ value: sql.pool().max, labels }]));
  metrics.use(
    observe('db.client.connection.pending_requests', () => [{ value: sql.pool().waiting, labels }]),
  );
  return metrics;
}

/**
 * The error of a commit that may have happened, because the server's answer to it was lost. A
 * commit that the server refused has not happened, and keeps its error.
 */
function errorOfCommit(error: unknown): unknown {
  const cause = AppError.from(error);
  if (error instanceof PostgresError || cause.code !== 'unavailable') return error;
  return new AppError(
    'unavailable',
    'The database did not confirm the change, which may have been made. Look before you repeat it.',
    { details: { lost: true }, cause: error },
  );
}
