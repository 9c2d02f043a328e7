import { describeTlsFailure } from '../config/index.ts';

/** What the operator has to do about an error, by its SQLSTATE. */
const remedies: Readonly<Record<string, string>> = {
  '08P01': 'If DATABASE_URL leads to PgBouncer in transaction mode, set DATABASE_POOLER=on.',
  '28P01': 'Run migrate first, which makes the roles, or correct the password in DATABASE_URL.',
  '28000': 'Run migrate first, which makes the roles, or correct DATABASE_URL.',
  '3D000': 'Create the database, or correct DATABASE_URL.',
  '42P01': 'Run migrate of this release first.',
  '42703': 'Run migrate of this release first.',
  '42501': 'Run migrate of this release first, as the owner of the schemas.',
  '57P03': 'Start again when it takes connections.',
};

/**
 * A sentence for the operator when a start ends because Postgres is absent or not ready for this
 * release; undefined for every other failure. Both Postgres drivers put a SQLSTATE, or the error
 * code of the socket, into `code`.
 */
export function describeDatabaseFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const tlsRemedy = describeTlsFailure(error, 'DATABASE_URL');
  if (tlsRemedy !== undefined)
    return `Postgres cannot be reached by TLS: ${error.message}. ${tlsRemedy}`;
  if (!('code' in error)) return undefined;
  const { code, message } = error;
  const remedy = remedies[String(code)];
  if (remedy !== undefined) return `Postgres refused: ${message}. ${remedy}`;
  // A failure to connect here concerns Postgres: a start otherwise waits only for NATS, whose
  // failures are a ConfigError.
  const isUnreachable =
    'syscall' in error && ['connect', 'getaddrinfo'].includes(String(error.syscall));
  if (!isUnreachable && code !== 'CONNECT_TIMEOUT') return undefined;
  return `Postgres cannot be reached: ${message || String(code)}. Start it first, or correct DATABASE_URL.`;
}
