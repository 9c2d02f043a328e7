import type { Sql } from '#database';

interface SignInDevice {
  /** SHA-256 of the browser's cookie. */
  readonly hash: Buffer;
  readonly orgId: string;
  readonly identityId: string;
}

/**
 * The most remembered browsers per user. If there are more, those that were not used for longest
 * are forgotten.
 */
const devicesMax = 50;

/** Whether this user signed in with this browser within the last 90 days. */
export async function isKnownDevice(
  sql: Sql,
  { hash, orgId, identityId }: SignInDevice,
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

/**
 * Whether any user signed in with this browser. If nobody did, the gateway did not set its cookie.
 */
export async function isDeviceOfAnyUser(sql: Sql, { hash }: { hash: Buffer }): Promise<boolean> {
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
  { hash, orgId, identityId }: SignInDevice,
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

/** Forgets all browsers of a user, because the password changed. */
export async function forgetDevices(
  sql: Sql,
  { orgId, identityId }: Omit<SignInDevice, 'hash'>,
): Promise<void> {
  await sql`
    delete from auth.sign_in_device
     where org_id = ${orgId}
       and identity_id = ${identityId}
  `;
}

export async function pruneSignInDevices(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from auth.sign_in_device
     where (hash, org_id, identity_id) in (select hash, org_id, identity_id
                                             from auth.sign_in_device
                                            where expires_at < now()
                                            limit ${limit})
  `;
  return count;
}
