import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';

import { signIn } from './http.ts';
import type { Caller } from './http.ts';
import { openBrowser } from './oauth-browser.ts';
import type { Account } from './oauth-browser.ts';
import type { Query } from './database.ts';

export interface Person extends Caller {
  readonly id: string;
  readonly orgId: string;
  readonly cookie: string;
}

/** Inserts another org into the tables, because no endpoint of the API creates orgs. */
export async function createOrg(query: Query): Promise<string> {
  const id = randomUUID();
  await query('insert into auth.org (id, name) values ($1, $2)', [id, `org-${id}`]);
  return id;
}

/** Inserts a user and a one-time link into the tables of auth, and signs the user in over HTTP. */
export async function createPerson(
  query: Query,
  url: string,
  { orgId, name, role }: { orgId: string; name: string; role: 'admin' | 'member' | 'auditor' },
): Promise<Person> {
  const id = randomUUID();
  await query(
    `insert into auth.identity (id, org_id, kind, name, owner_id, depth, lineage, role)
     values ($1, $2, 'user', $3, $1, 0, array[$1::uuid], $4)`,
    [id, orgId, name, role],
  );
  const link = createCheckedToken('sil_');
  await query(
    `insert into auth.sign_in_link (id, org_id, identity_id, hash, expires_at)
     values ($1, $2, $3, $4, now() + interval '1 hour')`,
    [randomUUID(), orgId, id, createHash('sha256').update(link).digest()],
  );
  return { id, orgId, ...(await signIn(`${url}/sign-in?token=${link}`)) };
}

/** Sets the e-mail address and password of a signed-in person who has neither yet. */
export async function choosePassword(
  url: string,
  { cookie }: { readonly cookie: string },
  account: Account,
): Promise<void> {
  const browser = openBrowser(url, { cookie });
  const passwordPage = await browser.open('/sign-in/password');
  const { url: shown, html } = await browser.press(passwordPage, '', { ...account });
  if (shown.pathname === passwordPage.url.pathname)
    throw new Error(`no password was chosen:\n${html}`);
}

/**
 * Creates a token: this prefix, 43 random base62 characters, and a CRC-32 of 6 characters
 * (docs/reference/identities.md#agent-keys).
 */
export function createCheckedToken(prefix: string): string {
  const body = encodeBase62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
  return `${prefix}${body}${encodeBase62(BigInt(crc32(prefix + body)), 6)}`;
}

function encodeBase62(value: bigint, length: number): string {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let text = '';
  for (let remainingValue = value; text.length < length; remainingValue /= 62n) {
    text = alphabet.charAt(Number(remainingValue % 62n)) + text;
  }
  return text;
}
