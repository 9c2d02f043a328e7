import { randomUUID } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import pg from 'pg';

/**
 * Every credential in a test begins like this, and nothing that may be kept does: the run fails when
 * any of it is found in a table, a write-ahead log, a stream or a log line
 * (docs/reference/security.md#credentials). A text that a caller puts where credentials do not belong
 * is kept with the rest, and begins otherwise.
 */
const mark = 'CANARY-';

/** A credential: it must never be seen where it was not sent. */
export const canary = (): string => `${mark}${randomUUID()}`;

/** Where a canary was found, with what stands before and after it. */
export interface Leak {
  readonly place: string;
  readonly form: string;
  readonly near: string;
}

const forms = markForms();

/** The mark as it may be spelled: in base64, whatever stands around it. */
function markForms(): ReadonlyMap<string, string> {
  const bytes = Buffer.from(mark);
  const found = new Map([
    ['raw', mark],
    ['hex', bytes.toString('hex')],
    ['HEX', bytes.toString('hex').toUpperCase()],
  ]);
  for (const [before, after] of [
    [0, 2],
    [1, 1],
    [2, 0],
  ] as const) {
    // Of its characters, those that its neighbours have no part in.
    const [low, high] = [0x00, 0xff].map((byte) =>
      Buffer.concat([Buffer.alloc(before, byte), bytes, Buffer.alloc(after, byte)])
        .toString('base64')
        .split(''),
    );
    const own = low?.map((character, at) => (character === high?.[at] ? character : ' ')).join('');
    found.set(`base64+${before}`, own?.trim() ?? '');
  }
  return found;
}

/** Looks at bytes as they are, and at what was compressed in them. */
export function findCanaries(place: string, sink: Buffer): Leak[] {
  return [sink, ...gzipMembersIn(sink)].flatMap((layer) =>
    [...forms].flatMap(([form, text]) => {
      const at = layer.indexOf(text);
      if (at < 0) return [];
      const near = layer.subarray(Math.max(0, at - 160), at + 80).toString('latin1');
      return [{ place, form, near: near.replaceAll(/[^\x20-\x7e]/g, '.') }];
    }),
  );
}

const gzipMagic = Buffer.from('1f8b08', 'hex');
const membersMax = 200;

/** Gzip members that begin anywhere in these bytes, opened. */
export function gzipMembersIn(sink: Buffer): Buffer[] {
  const members: Buffer[] = [];
  let at = sink.indexOf(gzipMagic);
  while (at >= 0 && members.length < membersMax) {
    try {
      members.push(gunzipSync(sink.subarray(at), { maxOutputLength: 16 * 1024 * 1024 }));
    } catch {
      // Three bytes that look like a beginning, and are none.
    }
    at = sink.indexOf(gzipMagic, at + 1);
  }
  return members;
}

/** Looks through the files below a folder, one at a time: all, or those whose names are wanted. */
export async function sweepFolder(
  folder: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<Leak[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const leaks: Leak[] = [];
  for (const { parentPath, name } of entries.filter((each) => each.isFile())) {
    if (!isWanted(name)) continue;
    const path = join(parentPath, name);
    // Postgres may take a segment of its log away meanwhile.
    const content = await readFile(path).catch(() => Buffer.alloc(0));
    leaks.push(...findCanaries(path, content));
  }
  return leaks;
}

/**
 * Looks through what Postgres logs from now on until it is asked: rows that were deleted since, and
 * what was rolled back. Segments are named in their order.
 */
export async function watchLog(adminUrl: string, walDir: string): Promise<() => Promise<Leak[]>> {
  const first = await currentSegment(adminUrl);
  return async () => {
    const last = await currentSegment(adminUrl);
    return sweepFolder(walDir, (name) => name >= first && name <= last);
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

/** Looks through every row of every table: as text, with bytes in hex. */
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
    const looks = tables.map(
      ({ name }) =>
        `(select '${name}' as place, t::text as row from ${name} t where t::text like any ($1) limit 1)`,
    );
    const inHex = [...forms.values()].map((text) => Buffer.from(text).toString('hex'));
    const wanted = [...forms.values(), ...inHex].map((text) => `%${text}%`);
    const { rows } = await client.query<{ place: string; row: string }>(looks.join(' union all '), [
      wanted,
    ]);
    return rows.map(({ place, row }) => {
      const [leak] = findCanaries(place, Buffer.from(row));
      return leak ?? { place, form: 'hex of bytes', near: row.slice(0, 240) };
    });
  } finally {
    await client.end();
  }
}

/** Fails what is under way when anything was found. */
export function refuseLeaks(leaks: readonly Leak[]): void {
  if (leaks.length === 0) return;
  const lines = leaks.slice(0, 20).map(({ place, form, near }) => `${place} (${form}): …${near}…`);
  throw new Error(
    [`${leaks.length} places keep a credential (${mark}…):`, ...lines, ''].join('\n'),
  );
}
