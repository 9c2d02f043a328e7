import type { Sql } from '#database';

/** Who somebody is at a provider: the issuer and its name for them, and nothing else. */
export interface Subject {
  readonly orgId: string;
  readonly issuer: string;
  readonly subject: string;
}

/** Held while somebody signs in, so that two first sign-ins at once make one user. */
export async function lockSubject(sql: Sql, { orgId, issuer, subject }: Subject): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(${JSON.stringify([orgId, issuer, subject])}, 0))
  `;
}

/** The user, and notes that they came. */
export async function touchSubject(
  sql: Sql,
  { orgId, issuer, subject }: Subject,
): Promise<string | undefined> {
  const [row] = await sql<{ identity_id: string }[]>`
    update auth.provider_subject
       set last_sign_in_at = now()
     where org_id = ${orgId}
       and issuer = ${issuer}
       and subject = ${subject}
    returning identity_id
  `;
  return row?.identity_id;
}

export async function insertSubject(
  sql: Sql,
  { orgId, issuer, subject, identityId }: Subject & { identityId: string },
): Promise<void> {
  await sql`
    insert into auth.provider_subject (org_id, issuer, subject, identity_id)
    values (${orgId}, ${issuer}, ${subject}, ${identityId})
  `;
}
