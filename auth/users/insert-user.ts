import { v7 as uuidv7 } from 'uuid';

import type { Role } from '#contracts/vocabulary';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import { identityCreatedEvent } from '../identities/domain/identity-events.ts';
import type { ChangeOrigin } from '../callers/domain/change-event.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { toNumberedName, suggestUserName } from './domain/user-name.ts';
import { getIdentity } from '../identities/identities.sql.ts';
import { insertLocalAccount } from './local-accounts.sql.ts';
import { insertNamedUser } from './users.sql.ts';

export interface NewUser {
  readonly email: string;
  readonly role: Role;
  readonly name?: string | undefined;
}

interface NewUserFields {
  readonly orgId: string;
  readonly role: Role;
  readonly email: string | null;
  readonly createdBy: string | null;
}

const nameAttemptsMax = 50;

/** Inserts a user with an account. The account has no password yet. */
export async function insertUserWithAccount(
  tx: Transaction,
  change: ChangeOrigin,
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
  await appendEvent(tx, identityCreatedEvent(change, user));
  return user;
}

/**
 * Inserts a user with a name that is derived from `source`. If the name is taken, a number is
 * appended.
 */
export async function insertUserNamedAfter(
  tx: Transaction,
  { source, ...fields }: NewUserFields & { readonly source: string },
): Promise<Identity | undefined> {
  const suggestedName = suggestUserName(source);
  for (let attempt = 1; attempt <= nameAttemptsMax; attempt += 1) {
    const user = await insertUserNamed(tx, {
      ...fields,
      name: toNumberedName(suggestedName, attempt),
    });
    if (user !== undefined) return user;
  }
  return insertUserNamed(tx, { ...fields, name: `user-${uuidv7()}` });
}

async function insertUserNamed(
  tx: Transaction,
  fields: NewUserFields & { readonly name: string },
): Promise<Identity | undefined> {
  const id = uuidv7();
  if (!(await insertNamedUser(tx, { id, ...fields }))) return undefined;
  return getIdentity(tx, { orgId: fields.orgId, id });
}
