import type { Sql } from '#database';

interface UserKey {
  readonly orgId: string;
  readonly identityId: string;
}

export interface LocalAccount extends UserKey {
  readonly email: string;
  /** A PHC string; null until the user sets a password. */
  readonly passwordHash: string | null;
}

/**
 * What an e-mail address and an optional org name identify at sign-in: the account, and the counter
 * of attempts.
 */
export interface AccountAtSignIn {
  readonly account: LocalAccount | undefined;
  /**
   * The id by which failed attempts are counted. It is the id of the account or, if there is none,
   * the id of an account with this address in another org. So each address has one counter, naming
   * other orgs allows no further guesses, and it does not reveal in which orgs the address exists.
   * Null when no account has the address.
   */
  readonly attemptsCountedById: string | null;
}

interface AccountRow {
  org_id: string;
  identity_id: string;
  email: string;
  password_hash: string | null;
}

/**
 * Finds the account with an e-mail address. The org name is optional when only one org has the
 * address. The statement takes no org id, because a person who signs in does not know it.
 */
export async function findAccountToSignIn(
  sql: Sql,
  { email, orgName }: { email: string; orgName: string | null },
): Promise<AccountAtSignIn> {
  const rows = await sql<(AccountRow & { in_named_org: boolean })[]>`
    select a.org_id, a.identity_id, a.email, a.password_hash,
           (${orgName}::text is null or o.name = ${orgName}) as in_named_org
      from auth.local_account a
      join auth.org o on o.id = a.org_id
     where lower(a.email) = lower(${email})
     order by in_named_org desc, a.identity_id
     limit 2
  `;
  const [row, other] = rows;
  const isOnlyMatch = row?.in_named_org === true && other?.in_named_org !== true;
  return {
    account: isOnlyMatch ? toAccount(row) : undefined,
    attemptsCountedById: row?.identity_id ?? null,
  };
}

export async function findLocalAccount(
  sql: Sql,
  { orgId, identityId }: UserKey,
): Promise<LocalAccount | undefined> {
  const [row] = await sql<AccountRow[]>`
    select org_id, identity_id, email, password_hash
      from auth.local_account
     where org_id = ${orgId}
       and identity_id = ${identityId}
  `;
  return row && toAccount(row);
}

export async function findLocalAccountByEmail(
  sql: Sql,
  { orgId, email }: { orgId: string; email: string },
): Promise<LocalAccount | undefined> {
  const [row] = await sql<AccountRow[]>`
    select org_id, identity_id, email, password_hash
      from auth.local_account
     where org_id = ${orgId}
       and lower(email) = lower(${email})
  `;
  return row && toAccount(row);
}

/**
 * Inserts an account; false when another account has the e-mail address. When a user is revoked,
 * the user's address can be used again.
 */
export async function insertLocalAccount(
  sql: Sql,
  { orgId, identityId, email }: UserKey & { email: string },
): Promise<boolean> {
  await sql`
    delete from auth.local_account a
     using auth.identity i
     where a.org_id = ${orgId}
       and lower(a.email) = lower(${email})
       and i.org_id = a.org_id
       and i.id = a.identity_id
       and i.status = 'revoked'
  `;
  const rows = await sql`
    insert into auth.local_account (org_id, identity_id, email)
    values (${orgId}, ${identityId}, ${email})
        on conflict do nothing
    returning identity_id
  `;
  return rows.length === 1;
}

/** Replaces the password hash `from`. False when another request has changed the password since. */
export async function replacePasswordHash(
  sql: Sql,
  { orgId, identityId, from, to }: UserKey & { from: string | null; to: string },
): Promise<boolean> {
  const rows = await sql`
    update auth.local_account
       set password_hash = ${to}, password_changed_at = now()
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and password_hash is not distinct from ${from}
    returning identity_id
  `;
  return rows.length === 1;
}

/** Locks the account until the transaction ends. False when the password was changed since. */
export async function lockPassword(
  sql: Sql,
  { orgId, identityId, passwordHash }: LocalAccount,
): Promise<boolean> {
  const rows = await sql`
    select identity_id
      from auth.local_account
     where org_id = ${orgId}
       and identity_id = ${identityId}
       and password_hash = ${passwordHash}
       for no key update
  `;
  return rows.length === 1;
}

function toAccount(row: AccountRow): LocalAccount {
  return {
    orgId: row.org_id,
    identityId: row.identity_id,
    email: row.email,
    passwordHash: row.password_hash,
  };
}
