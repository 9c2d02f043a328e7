import { ConfigError, describeTlsFailure } from '../config/index.ts';
import type { Config } from '../config/index.ts';
import { components } from '../contracts/vocabulary.ts';
import type { Logger } from '../telemetry/logger.ts';
import { databaseUrlOf } from './address.ts';
import { openDatabase, PostgresError } from './open.ts';
import type { Database, DatabaseOptions } from './open.ts';
import { sessionSettingsOf, storeSettingsStatements } from './session.ts';

/** The settings that decide how a component connects to its database. */
export const databaseSettings = [
  'DATABASE_URL',
  'DATABASE_CONNECTIONS_MAX',
  'DATABASE_POOLER',
  'SERVERS_CA_FILE',
] as const;

const firstAnswerMsMax = 5_000;
/** SQLSTATE classes of failures that pass: the server will accept connections later. */
const passingFailures = /^(53|57)/;

/**
 * Opens the database of a component that starts. Throws the server's error when the server refuses
 * the login, an error about TLS when TLS fails, and a `ConfigError` when sessions would not have
 * the right settings. A server that does not answer does not prevent the start: the component is
 * not ready until the server answers.
 */
export async function openOwnDatabase(
  config: Config<(typeof databaseSettings)[number]>,
  {
    logger,
    ...options
  }: Pick<DatabaseOptions, 'schema' | 'planEachTime'> & { logger?: Pick<Logger, 'warn'> },
): Promise<Database> {
  const isPooled = config.DATABASE_POOLER === 'on';
  await using startup = new AsyncDisposableStack();
  const db = startup.use(
    openDatabase({
      url: databaseUrlOf(config),
      connectionsMax: config.DATABASE_CONNECTIONS_MAX,
      isPooled,
      ...options,
    }),
  );
  const session = await readSession(db, options.schema);
  if (session !== undefined && isPooled) checkSettings(session, options.schema);
  if (session !== undefined && !isPooled) {
    const needed = connectionsOf(config.DATABASE_CONNECTIONS_MAX);
    const { room } = session;
    if (needed > room)
      logger?.warn({ needed, room }, 'Postgres has fewer connections than the components open');
  }
  startup.move();
  return db;
}

/** The connections that one replica of each component with a database opens at most. */
function connectionsOf(connectionsMax: number): number {
  const owners = components.filter((component) => component !== 'gateway');
  return owners.length * (connectionsMax + 1);
}

interface Session {
  /** The connections that the server and the database allow for users other than superusers. */
  readonly room: number;
  /** The name as in SQL, quoted if necessary. */
  readonly role: string;
  readonly database: string;
  /** The values of `sessionSettingsOf` as text. */
  readonly settings: Readonly<Record<string, string>>;
}

/**
 * Reads the settings of a session and the limits of the server; undefined when the server does not
 * answer now.
 */
async function readSession({ probe }: Database, schema: string): Promise<Session | undefined> {
  const names = Object.keys(sessionSettingsOf(schema));
  try {
    const rows = await probe.ask(
      { withinMs: firstAnswerMsMax },
      async (sql) => sql<Session[]>`
        select quote_ident(current_user) as role,
               quote_ident(current_database()) as database,
               least(
                 current_setting('max_connections')::int
                   - current_setting('superuser_reserved_connections')::int
                   - coalesce(current_setting('reserved_connections', true)::int, 0),
                 (select nullif(datconnlimit, -1)
                    from pg_database
                   where datname = current_database())
               ) as room,
               (select json_object_agg(name, setting)
                  from pg_settings
                 where name = any(${names})) as settings
      `,
    );
    return rows[0];
  } catch (error) {
    if (error instanceof PostgresError && !passingFailures.test(error.code)) throw error;
    if (describeTlsFailure(error, 'DATABASE_URL') !== undefined) throw error;
    return undefined;
  }
}

function checkSettings({ role, database, settings }: Session, schema: string): void {
  const isRight = Object.entries(sessionSettingsOf(schema)).every(([name, value]) =>
    typeof value === 'number' ? settings[name] !== '0' : settings[name] === value,
  );
  if (isRight) return;
  throw new ConfigError(
    `The role ${role}, with which ${schema} logs in, lacks the settings that sessions of a pooler need. ` +
      `Give ${schema} a role of its own in ${schema.toUpperCase()}_DATABASE_URL and run migrate with ` +
      'that setting, or let a database administrator run: ' +
      `${storeSettingsStatements({ role, database, schema }).join('; ')}. ` +
      'Then let the pooler connect again (RECONNECT in PgBouncer).',
  );
}
