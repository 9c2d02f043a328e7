import { randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import pg from 'pg';

/**
 * Every credential in a test begins with this mark, and no other text does. The run fails if the
 * mark appears in a table, a write-ahead log, a stream or a log line
 * (docs/reference/security.md#credentials). Some tests put an ordinary text into a field where no
 * credential belongs. Such a text must not contain the mark, because the product stores it.
 */
const canaryMark = 'CANARY-';

/** Creates a credential. It may appear only in the places to which a test sends it. */
export const createCanary = (): string => `${canaryMark}${randomUUID()}`;

/** A canary that was found, with the text before and after it. */
export interface Leak {
  readonly place: string;
  readonly form: string;
  readonly near: string;
}

const formsByName = markForms();

/**
 * The forms in which the mark may appear: plain, in hex, and in base64. The base64 form depends on
 * the mark's position within a group of three bytes, so there are three of them.
 */
function markForms(): ReadonlyMap<string, string> {
  const bytes = Buffer.from(canaryMark);
  const formsOfMark = new Map([
    ['raw', canaryMark],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
  ]);
  for (const [before, after] of [
    [0, 2],
    [1, 1],
    [2, 0],
  ] as const) {
    // Keeps only the base64 characters that do not depend on the bytes before and after the mark.
    const [low, high] = [0x00, 0xff].map((byte) =>
      Buffer.concat([Buffer.alloc(before, byte), bytes, Buffer.alloc(after, byte)])
        .toString('base64')
        .split(''),
    );
    const stableCharacters = low
      ?.map((character, at) => (character === high?.[at] ? character : ' '))
      .join('');
    formsOfMark.set(`base64+${before}`, stableCharacters?.trim() ?? '');
  }
  return formsOfMark;
}

/**
 * Finds canaries in the bytes, and in the data that was compressed with gzip within these bytes.
 */
export function findCanaries(place: string, sink: Buffer): Leak[] {
  return [sink, ...gzipMembersIn(sink)].flatMap((layer) =>
    [...formsByName].flatMap(([form, text]) => {
      const at = layer.indexOf(text);
      if (at < 0) return [];
      const near = layer.subarray(Math.max(0, at - 160), at + 80).toString('latin1');
      return [{ place, form, near: near.replaceAll(/[^\x20-\x7e]/g, '.') }];
    }),
  );
}

const gzipMagic = Buffer.from('1f8b08', 'hex');
const gzipMembersMax = 200;

/** Decompresses all gzip data that begins anywhere in these bytes. */
export function gzipMembersIn(sink: Buffer): Buffer[] {
  const gzipMembers: Buffer[] = [];
  let at = sink.indexOf(gzipMagic);
  while (at >= 0 && gzipMembers.length < gzipMembersMax) {
    try {
      gzipMembers.push(gunzipSync(sink.subarray(at), { maxOutputLength: 16 * 1024 * 1024 }));
    } catch {
      // The three bytes look like the start of gzip data, but no gzip data follows.
    }
    at = sink.indexOf(gzipMagic, at + 1);
  }
  return gzipMembers;
}

/**
 * Searches the files in a folder and its subfolders: all files, or only files with a matching name.
 */
export async function sweepFolder(
  folder: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<Leak[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const leaks: Leak[] = [];
  for (const { parentPath, name } of entries.filter((each) => each.isFile())) {
    if (!isWanted(name)) continue;
    const path = join(parentPath, name);
    // Postgres may have deleted this segment of its log since the folder was listed.
    const content = await readFile(path).catch(() => Buffer.alloc(0));
    leaks.push(...findCanaries(path, content));
  }
  return leaks;
}

/**
 * Remembers the current position in the write-ahead log. The returned function searches everything
 * that was logged after this position, including rows that were deleted or rolled back. The names
 * of the log's segments sort in the order in which the segments were written.
 */
export async function watchLog(adminUrl: string, walDir: string): Promise<() => Promise<Leak[]>> {
  const firstSegment = await currentSegment(adminUrl);
  return async () => {
    const lastSegment = await currentSegment(adminUrl);
    return sweepFolder(walDir, (name) => name >= firstSegment && name <= lastSegment);
  };
}

async function currentSegment(adminUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const now = 'select pg_walfile_name(pg_current_wal_insert_lsn()) as name';
    const { rows } = await client.query<{ name: string }>(now);
    return rows[0]?.name ?? '';
  } finally {
    await client.end();
  }
}

/** Searches every row of every table as text. In this text, bytes are written in hex. */
export async function sweepDatabase(adminUrl: string): Promise<Leak[]> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(`
      select format('%I.%I', schemaname, tablename) as name
        from pg_tables
       where schemaname not in ('pg_catalog', 'information_schema')
    `);
    if (tables.length === 0) throw new Error('the sweep found no tables');
    const searches = tables.map(
      ({ name }) =>
        `(select '${name}' as place, t::text as row from ${name} t where t::text like any ($1) limit 1)`,
    );
    const formsInHex = [...formsByName.values()].map((text) => Buffer.from(text).toString('hex'));
    const patterns = [...formsByName.values(), ...formsInHex].map((text) => `%${text}%`);
    const { rows } = await client.query<{ place: string; row: string }>(
      searches.join(' union all '),
      [patterns],
    );
    return rows.map(({ place, row }) => {
      const [leak] = findCanaries(place, Buffer.from(row));
      return leak ?? { place, form: 'hex of bytes', near: row.slice(0, 240) };
    });
  } finally {
    await client.end();
  }
}

/** Throws if any leak was found. */
export function refuseLeaks(leaks: readonly Leak[]): void {
  if (leaks.length === 0) return;
  const lines = leaks.slice(0, 20).map(({ place, form, near }) => `${place} (${form}): …${near}…`);
  throw new Error(
    [`${leaks.length} places keep a credential (${canaryMark}…):`, ...lines, ''].join('\n'),
  );
}
