import { v7 as uuidv7 } from 'uuid';

import type { Role } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { identityCreated } from '../domain/identity-events.ts';
import type { Change } from '../domain/identity-events.ts';
import type { Identity } from '../domain/identity.ts';
import { numberedName, suggestUserName } from '../domain/user-name.ts';
import { getIdentity } from '../repository/identities.ts';
import { insertLocalAccount } from '../repository/local-accounts.ts';
import { insertNamedUser } from '../repository/users.ts';

export interface NewUser {
  readonly email: string;
  readonly role: Role;
  readonly name?: string | undefined;
}

interface UserFields {
  readonly orgId: string;
  readonly role: Role;
  readonly email: string | null;
  readonly createdBy: string | null;
}

const nameAttemptsMax = 50;

/** A user with an account that has no password yet. */
export async function insertLocalUser(
  tx: Transaction,
  change: Change,
  { email, role, name }: NewUser,
): Promise<Identity> {
  const { orgId, identityId: createdBy } = change.caller;
  const fields = { orgId, role, email, createdBy };
  const user =
    name === undefined
      ? await insertUserNamedAfter(tx, { ...fields, source: email })
      : await insertUserNamed(tx, { ...fields, name });
  if (user === undefined) {
    throw new AppError('conflict', `There is a user named ${name} already; choose another name.`);
  }
  if (!(await insertLocalAccount(tx, { orgId, identityId: user.id, email }))) {
    throw new AppError('conflict', 'This e-mail address is a user already.');
  }
  await appendEvent(tx, identityCreated(change, user));
  return user;
}

/** A user named like its e-mail address, or like that and a number. */
export async function insertUserNamedAfter(
  tx: Transaction,
  { source, ...fields }: UserFields & { readonly source: string },
): Promise<Identity | undefined> {
  const wanted = suggestUserName(source);
  for (let attempt = 1; attempt <= nameAttemptsMax; attempt += 1) {
    const user = await insertUserNamed(tx, { ...fields, name: numberedName(wanted, attempt) });
    if (user !== undefined) return user;
  }
  return insertUserNamed(tx, { ...fields, name: `user-${uuidv7()}` });
}

async function insertUserNamed(
  tx: Transaction,
  fields: UserFields & { readonly name: string },
): Promise<Identity | undefined> {
  const id = uuidv7();
  if (!(await insertNamedUser(tx, { id, ...fields }))) return undefined;
  return getIdentity(tx, { orgId: fields.orgId, id });
}
