import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';

import { signIn } from '../../support/http.ts';
import type { Caller } from '../../support/http.ts';
import { openBrowser } from '../../support/oauth-browser.ts';
import type { Account } from '../../support/oauth-browser.ts';
import type { Query } from './database.ts';

export interface Person extends Caller {
  readonly id: string;
  readonly orgId: string;
  readonly cookie: string;
}

/** A further org, as an operator would make one: there is no endpoint for it. */
export async function createOrg(query: Query): Promise<string> {
  const id = randomUUID();
  await query('insert into auth.org (id, name) values ($1, $2)', [id, `org-${id}`]);
  return id;
}

/** A user with a one-time link in the tables of `auth`, who then signs in by HTTP like everybody. */
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
  const link = checkedToken('sil_');
  await query(
    `insert into auth.sign_in_link (id, org_id, identity_id, hash, expires_at)
     values ($1, $2, $3, $4, now() + interval '1 hour')`,
    [randomUUID(), orgId, id, createHash('sha256').update(link).digest()],
  );
  return { id, orgId, ...(await signIn(`${url}/sign-in?token=${link}`)) };
}

/** For somebody who is signed in and has neither address nor password yet. */
export async function choosePassword(
  url: string,
  { cookie }: { readonly cookie: string },
  account: Account,
): Promise<void> {
  const browser = openBrowser(url, { cookie });
  const form = await browser.open('/sign-in/password');
  const { url: shown, html } = await browser.press(form, '', { ...account });
  if (shown.pathname === form.url.pathname) throw new Error(`no password was chosen:\n${html}`);
}

/** A prefix, 43 base62 characters of randomness and 6 of CRC-32 (docs/reference/identities.md#agent-keys). */
export function checkedToken(prefix: string): string {
  const body = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), 43);
  return `${prefix}${body}${base62(BigInt(crc32(prefix + body)), 6)}`;
}

function base62(value: bigint, length: number): string {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) {
    text = alphabet.charAt(Number(rest % 62n)) + text;
  }
  return text;
}
