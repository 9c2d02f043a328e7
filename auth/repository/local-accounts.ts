import type { Sql } from '#database';

interface OneUser {
  readonly orgId: string;
  readonly identityId: string;
}

export interface LocalAccount extends OneUser {
  readonly email: string;
  /** PHC string; null until a password was chosen. */
  readonly passwordHash: string | null;
}

/** The account that an e-mail address and an optional org name lead to at sign-in. */
export interface MeantAccount {
  readonly account: LocalAccount | undefined;
  /**
   * The account that failed attempts count against: this one, else an account with the same address
   * in another org. An address has one count, so naming other orgs gives no further guesses and
   * does not reveal in which orgs it is known. Null: no account has the address.
   */
  readonly countedAs: string | null;
}

interface AccountRow {
  org_id: string;
  identity_id: string;
  email: string;
  password_hash: string | null;
}

/**
 * The account somebody means by an e-mail address and the name of an org, which may be left out
 * where the address is known in one org only. No org id: who signs in does not know it.
 */
export async function findAccountToSignIn(
  sql: Sql,
  { email, orgName }: { email: string; orgName: string | null },
): Promise<MeantAccount> {
  const rows = await sql<(AccountRow & { is_meant: boolean })[]>`
    select a.org_id, a.identity_id, a.email, a.password_hash,
           (${orgName}::text is null or o.name = ${orgName}) as is_meant
      from auth.local_account a
      join auth.org o on o.id = a.org_id
     where lower(a.email) = lower(${email})
     order by is_meant desc, a.identity_id
     limit 2
  `;
  const [row, other] = rows;
  const isOne = row?.is_meant === true && other?.is_meant !== true;
  return {
    account: isOne ? toAccount(row) : undefined,
    countedAs: row?.identity_id ?? null,
  };
}

export async function findLocalAccount(
  sql: Sql,
  { orgId, identityId }: OneUser,
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

/** False when the e-mail address is another account's; that of a revoked user is free again. */
export async function insertLocalAccount(
  sql: Sql,
  { orgId, identityId, email }: OneUser & { email: string },
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

/** False when the password was changed meanwhile. */
export async function replacePasswordHash(
  sql: Sql,
  { orgId, identityId, from, to }: OneUser & { from: string | null; to: string },
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

/** Holds the account while a session is opened: a password that is being changed opens none any more. */
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
