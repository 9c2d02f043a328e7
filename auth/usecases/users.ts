import { v7 as uuidv7 } from 'uuid';

import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { Invitation, SignInLink } from '#contracts/http/users';
import type { CallContext, Principal, Role } from '#contracts/vocabulary';
import { cursorOf } from '#database';
import type { Transaction } from '#database';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { hashOf } from '../domain/checked-token.ts';
import { formatSignInToken } from '../domain/dashboard-session.ts';
import { identityCreated } from '../domain/identity-events.ts';
import type { Change } from '../domain/identity-events.ts';
import type { Identity } from '../domain/identity.ts';
import { presentIdentity } from '../domain/present-identity.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { numberedName, suggestUserName } from '../domain/user-name.ts';
import { parseIdCursor } from '../repository/id-cursor.ts';
import { findIdentity, getIdentity, listIdentities } from '../repository/identities.ts';
import { findLocalAccountByEmail, insertLocalAccount } from '../repository/local-accounts.ts';
import { lockOrg } from '../repository/orgs.ts';
import { insertSignInLink, invalidateSignInLinks } from '../repository/sign-in-links.ts';
import { changeRole, hasNeverSignedIn, insertNamedUser } from '../repository/users.ts';
import { readAdmin, readReader } from './org.ts';
import { keepOneAdmin } from './revoke-identity.ts';

interface NewUser {
  readonly email: string;
  readonly role: Role;
  readonly name?: string | undefined;
}

interface CreateFields {
  readonly principal: string;
  readonly body: NewUser;
  readonly context: CallContext;
}

const invitationHours = 72;
const linkHours = 24;
const nameAttemptsMax = 50;

export async function listUsers(
  { db, readPrincipal }: Deps,
  {
    principal,
    page,
  }: { principal: string; page: { readonly limit: number; readonly cursor: string | null } },
): Promise<{ items: PublicIdentity[]; next_cursor: string | null }> {
  const { orgId } = readReader({ readPrincipal }, principal);
  const rows = await listIdentities(db, {
    orgId,
    withinId: null,
    kind: 'user',
    afterId: parseIdCursor(page.cursor),
    limit: page.limit + 1,
  });
  const shown = rows.slice(0, page.limit);
  const last = rows.length > page.limit ? shown.at(-1) : undefined;
  return {
    items: shown.map(presentIdentity),
    next_cursor: last === undefined ? null : cursorOf([last.id]),
  };
}

/** Creates a user with an e-mail address; a sign-in link is made for them later. */
export async function createUser(
  { db, readPrincipal }: Deps,
  { principal, body, context }: CreateFields,
): Promise<PublicIdentity> {
  const caller = readAdmin({ readPrincipal }, principal);
  return db.transaction(async (tx) => {
    await lockOrg(tx, caller);
    return presentIdentity(await insertLocalUser(tx, { caller, context }, body));
  });
}

/** Creates a user with a one-time link; for somebody who was invited and never came, a new link. */
export async function inviteUser(
  deps: Deps,
  { principal, body, context }: CreateFields,
): Promise<Invitation> {
  const caller = readAdmin(deps, principal);
  const { orgId } = caller;
  const change = { caller, context };
  return deps.db.transaction(async (tx) => {
    // Two invitations of one address at once would be two users.
    await lockOrg(tx, { orgId });
    const invited = await findInvited(tx, { orgId, email: body.email });
    const user =
      invited === undefined
        ? await insertLocalUser(tx, change, body)
        : await setRole(tx, change, { user: invited, role: body.role });
    const link = await makeLink(tx, deps, { user, hours: invitationHours });
    await appendEvent(
      tx,
      accountChanged('user.invited', change, {
        audience: [user.id],
        data: { identity_id: user.id, role: body.role, expires_at: link.expires_at },
        description: `${nameOf(caller)} invited ${user.name} (${body.email}) as ${body.role}.`,
      }),
    );
    return { user: presentIdentity(user), ...link };
  });
}

/** Changes a user's role, which holds for whatever they ask next. */
export async function changeUser(
  { db, readPrincipal, credentials }: Deps,
  {
    principal,
    id,
    body,
    context,
  }: Omit<CreateFields, 'body'> & { id: string; body: { readonly role: Role } },
): Promise<PublicIdentity> {
  const caller = readAdmin({ readPrincipal }, principal);
  const changed = await db.transaction(async (tx) => {
    const user = await getLiveUser(tx, caller, id);
    return setRole(tx, { caller, context }, { user, role: body.role });
  });
  credentials.clear();
  return presentIdentity(changed);
}

/** Makes a one-time link with which a user signs in and sets a new password; older ones end. */
export async function createSignInLink(
  deps: Deps,
  { principal, id, context }: Omit<CreateFields, 'body'> & { id: string },
): Promise<SignInLink> {
  const caller = readAdmin(deps, principal);
  return deps.db.transaction(async (tx) => {
    const user = await getLiveUser(tx, caller, id);
    if (user.status !== 'active') {
      throw new AppError('conflict', 'This user is archived; restore them first.');
    }
    const link = await makeLink(tx, deps, { user, hours: linkHours });
    const description = `${nameOf(caller)} made a sign-in link for ${user.name}.`;
    const data = { identity_id: user.id, expires_at: link.expires_at };
    const change = { audience: [user.id], data, description };
    await appendEvent(tx, accountChanged('sign_in_link.created', { caller, context }, change));
    return link;
  });
}

async function getLiveUser(tx: Transaction, { orgId }: Principal, id: string): Promise<Identity> {
  const user = await findIdentity(tx, { orgId, id });
  if (user?.kind === 'user' && user.status !== 'revoked') return user;
  throw new AppError('not_found', 'There is no such user in your org.');
}

async function findInvited(
  tx: Transaction,
  { orgId, email }: { orgId: string; email: string },
): Promise<Identity | undefined> {
  const account = await findLocalAccountByEmail(tx, { orgId, email });
  if (account === undefined) return undefined;
  const user = await getIdentity(tx, { orgId, id: account.identityId });
  if (user.status === 'revoked') return undefined;
  if (user.status === 'active' && (await hasNeverSignedIn(tx, { orgId, id: user.id }))) return user;
  throw new AppError(
    'conflict',
    'This e-mail address is a user already; make a sign-in link for them instead.',
    { details: { user_id: user.id } },
  );
}

async function insertLocalUser(
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

interface UserFields {
  readonly orgId: string;
  readonly role: Role;
  readonly email: string | null;
  readonly createdBy: string | null;
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

async function setRole(
  tx: Transaction,
  change: Change,
  { user, role }: { user: Identity; role: Role },
): Promise<Identity> {
  const { orgId, id } = user;
  if (user.role === 'admin' && role !== 'admin') await keepOneAdmin(tx, user);
  if (!(await changeRole(tx, { orgId, id, role }))) return getIdentity(tx, { orgId, id });
  await appendEvent(
    tx,
    accountChanged('identity.changed', change, {
      audience: [id],
      data: { identity_id: id, role },
      description: `${nameOf(change.caller)} made ${user.name} ${role}.`,
    }),
  );
  return getIdentity(tx, { orgId, id });
}

async function makeLink(
  tx: Transaction,
  { randomBytes, baseUrl }: Pick<Deps, 'randomBytes' | 'baseUrl'>,
  { user, hours }: { user: Identity; hours: number },
): Promise<SignInLink> {
  const { orgId, id: identityId } = user;
  const token = formatSignInToken(randomBytes(32));
  await invalidateSignInLinks(tx, { orgId, identityId });
  const { expiresAt } = await insertSignInLink(tx, {
    id: uuidv7(),
    orgId,
    identityId,
    hash: hashOf(token),
    hours,
  });
  return { url: `${baseUrl}/sign-in?token=${token}`, expires_at: expiresAt.toISOString() };
}
