import { v7 as uuidv7 } from 'uuid';

import type { SignInLink } from '#contracts/http/users';
import type { Transaction } from '#database';
import type { Deps } from '../deps.ts';
import { hashOf } from '../domain/checked-token.ts';
import { formatSignInToken } from '../domain/dashboard-session.ts';
import type { Identity } from '../domain/identity.ts';
import { insertSignInLink, invalidateSignInLinks } from '../repository/sign-in-links.ts';

/** A one-time link for a user; the older ones end. */
export async function makeLink(
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
