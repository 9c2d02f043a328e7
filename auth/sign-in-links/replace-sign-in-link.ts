import { v7 as uuidv7 } from 'uuid';

import type { SignInLink } from '#contracts/http/users';
import type { Transaction } from '#database';
import type { Deps } from '../deps.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { formatSignInToken } from '../credentials/domain/session-token.ts';
import type { Identity } from '../identities/domain/identity.ts';
import { insertSignInLink, invalidateSignInLinks } from './sign-in-links.sql.ts';

/** Creates a one-time link for a user. The user's older links end. */
export async function replaceSignInLink(
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
    hash: hashToken(token),
    hours,
  });
  return { url: `${baseUrl}/sign-in?token=${token}`, expires_at: expiresAt.toISOString() };
}
