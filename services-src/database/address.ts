import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

import pg from 'pg';

import { ConfigError, isLoopbackHost } from '../config/index.ts';

/**
 * The URL of a component's Postgres. SERVERS_CA_FILE adds the certificate authority to it, and TLS
 * for every host but this machine. Parameters that the URL already has take precedence.
 */
export function databaseUrlOf({
  DATABASE_URL,
  SERVERS_CA_FILE: caFile,
}: {
  readonly DATABASE_URL: string;
  readonly SERVERS_CA_FILE?: string | undefined;
}): string {
  const url = new URL(DATABASE_URL);
  const isOnThisMachine = url.searchParams.has('host') || isLoopbackHost(url.hostname);
  const mode = url.searchParams.get('sslmode');
  if (caFile === undefined || mode === 'disable' || (mode === null && isOnThisMachine))
    return DATABASE_URL;
  if (mode === null) url.searchParams.set('sslmode', 'verify-full');
  if (!url.searchParams.has('sslrootcert')) url.searchParams.set('sslrootcert', caFile);
  return url.href;
}

/** A Postgres URL without its parameters of TLS, and the options of TLS that they mean. */
export interface DatabaseAddress {
  readonly url: string;
  readonly ssl: ConnectionOptions | false;
}

/**
 * Reads from the URL how to use TLS with Postgres. The certificate is always verified; only
 * `verify-ca` accepts a certificate for another host name. Throws a `ConfigError` when the file of
 * the certificate authority cannot be read.
 */
export function parseDatabaseUrl(text: string): DatabaseAddress {
  const url = new URL(text);
  const mode = url.searchParams.get('sslmode');
  const caFile = url.searchParams.get('sslrootcert');
  url.searchParams.delete('sslmode');
  url.searchParams.delete('sslrootcert');
  if (mode === null || mode === 'disable') return { url: url.href, ssl: false };
  return {
    url: url.href,
    ssl: {
      ...(caFile === null || caFile === 'system' ? {} : { ca: readAuthority(caFile) }),
      ...(mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
    },
  };
}

function readAuthority(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new ConfigError(
      `The sslrootcert of DATABASE_URL names a file that cannot be read: ${path}`,
    );
  }
}

/** Connects as the role that owns the schemas, for migrations and the like. */
export async function connectOwner(
  adminUrl: string,
  { name }: { name: string },
): Promise<pg.Client & AsyncDisposable> {
  const { url, ssl } = parseDatabaseUrl(adminUrl);
  const client = new pg.Client({ connectionString: url, ssl, application_name: name });
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}
