import type { Sql } from '#database';

/** The identity of a person at a provider, which consists of issuer and subject only. */
export interface ProviderSubject {
  readonly orgId: string;
  readonly issuer: string;
  readonly subject: string;
}

/**
 * Locks the subject until the transaction ends, so that two parallel first sign-ins create one
 * user.
 */
export async function lockSubject(
  sql: Sql,
  { orgId, issuer, subject }: ProviderSubject,
): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(${JSON.stringify([orgId, issuer, subject])}, 0))
  `;
}

/** Stores the time of the sign-in and returns the id of the user; undefined for a new subject. */
export async function touchSubject(
  sql: Sql,
  { orgId, issuer, subject }: ProviderSubject,
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
  { orgId, issuer, subject, identityId }: ProviderSubject & { identityId: string },
): Promise<void> {
  await sql`
    insert into auth.provider_subject (org_id, issuer, subject, identity_id)
    values (${orgId}, ${issuer}, ${subject}, ${identityId})
  `;
}
