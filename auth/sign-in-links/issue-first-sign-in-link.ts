import { v7 as uuidv7 } from 'uuid';

import { blankAuditEntry } from '#contracts/audit';
import type { Transaction } from '#database';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { formatSignInToken } from '../credentials/domain/session-token.ts';
import { canAdminSignIn, findFirstAdmin, hasUsers, lockBootstrap } from './first-admin.sql.ts';
import { insertUser } from '../identities/identities.sql.ts';
import { insertOrg } from '../orgs/orgs.sql.ts';
import { insertSignInLink, invalidateSignInLinks } from './sign-in-links.sql.ts';

/**
 * Makes a new deployment usable. A start without any user creates the org and its admin. Every
 * start then creates a one-time link for that admin and ends the older links, until an admin can
 * sign in in another way. With `always`, every start creates a link even then. Returns null when no
 * link was created.
 */
export async function issueFirstSignInLink(
  { db, randomBytes, baseUrl }: Pick<Deps, 'db' | 'randomBytes' | 'baseUrl'>,
  { always }: { always: boolean },
): Promise<string | null> {
  return db.transaction(async (tx) => {
    await lockBootstrap(tx);
    if (!always && (await canAdminSignIn(tx))) return null;
    const admin = (await hasUsers(tx)) ? await findFirstAdmin(tx) : await createFirstAdmin(tx);
    if (admin === undefined) return null;

    const { orgId, id: identityId } = admin;
    const token = formatSignInToken(randomBytes(32));
    await invalidateSignInLinks(tx, { orgId, identityId });
    await insertSignInLink(tx, { id: uuidv7(), orgId, identityId, hash: hashToken(token) });
    return `${baseUrl}/sign-in?token=${token}`;
  });
}

async function createFirstAdmin(tx: Transaction): Promise<{ orgId: string; id: string }> {
  const orgId = uuidv7();
  const id = uuidv7();
  await insertOrg(tx, { id: orgId, name: 'default' });
  await insertUser(tx, { orgId, id, name: 'admin', role: 'admin' });
  await appendEvent(tx, {
    type: 'identity.created',
    orgId,
    audience: [id],
    data: { identity_id: id, kind: 'user', name: 'admin', parent_id: null, owner_id: id },
    audit: { ...blankAuditEntry('The first start created the org and its admin.'), user_id: id },
  });
  return { orgId, id };
}
