import { open } from 'node:fs/promises';

import pg from 'pg';

/** Takes all the space that is left, to the last byte. */
export async function fillDisk(path: string): Promise<void> {
  await using file = await open(path, 'a');
  for (const bytes of [1 << 20, 4_096, 1]) {
    const ballast = Buffer.alloc(bytes);
    for (;;) {
      try {
        await file.write(ballast);
      } catch {
        break;
      }
    }
  }
}

/** Makes Postgres begin a new segment of its write-ahead log. */
export async function startWalSegment(adminUrl: string): Promise<void> {
  const client = new pg.Client({
    connectionString: adminUrl,
    connectionTimeoutMillis: 2_000,
    query_timeout: 2_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('create temporary table if not exists some (x int)');
    await client.query('select txid_current(), pg_switch_wal()');
  } finally {
    void client.end().catch(() => undefined);
  }
}
