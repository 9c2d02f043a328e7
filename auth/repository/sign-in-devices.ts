import type { Sql } from '#database';

interface Device {
  /** SHA-256 of the browser's cookie. */
  readonly hash: Buffer;
  readonly orgId: string;
  readonly identityId: string;
}

/** A user's browsers beyond these are forgotten, those unused for longest first. */
const devicesMax = 50;

/** Whether this user signed in with this browser within the last 90 days. */
export async function isKnownDevice(
  sql: Sql,
  { hash, orgId, identityId }: Device,
): Promise<boolean> {
  const rows = await sql`
    select hash
      from auth.sign_in_device
     where hash = ${hash}
       and org_id = ${orgId}
       and identity_id = ${identityId}
       and expires_at > now()
  `;
  return rows.length === 1;
}

/** Whether any user signed in with this browser: only then was its cookie made here. */
export async function isDeviceOfAnyone(sql: Sql, { hash }: { hash: Buffer }): Promise<boolean> {
  const rows = await sql`
    select hash
      from auth.sign_in_device
     where hash = ${hash}
       and expires_at > now()
     limit 1
  `;
  return rows.length === 1;
}

/** Remembers the browser for 90 days from now. */
export async function rememberDevice(
  sql: Sql,
  { hash, orgId, identityId }: Device,
): Promise<{ expiresAt: Date }> {
  const [row] = await sql<{ expires_at: Date }[]>`
    insert into auth.sign_in_device (hash, org_id, identity_id, expires_at)
    values (${hash}, ${orgId}, ${identityId}, now() + interval '90 days')
        on conflict (hash, org_id, identity_id) do update
       set expires_at = excluded.expires_at
    returning expires_at
  `;
  if (row === undefined) throw new Error('the inserted device was not returned');
  await sql`
    delete from auth.sign_in_device
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and hash in (select hash
                      from auth.sign_in_device
                     where org_id = ${orgId}
                       and identity_id = ${identityId}
                     order by expires_at desc
                    offset ${devicesMax})
  `;
  return { expiresAt: row.expires_at };
}

/** A changed password ends what every browser was trusted with. */
export async function forgetDevices(
  sql: Sql,
  { orgId, identityId }: Omit<Device, 'hash'>,
): Promise<void> {
  await sql`
    delete from auth.sign_in_device
     where org_id = ${orgId}
       and identity_id = ${identityId}
  `;
}

export async function pruneSignInDevices(sql: Sql): Promise<void> {
  await sql`
    delete from auth.sign_in_device
     where (hash, org_id, identity_id) in (select hash, org_id, identity_id
                                             from auth.sign_in_device
                                            where expires_at < now()
                                            limit 10000)
  `;
}
