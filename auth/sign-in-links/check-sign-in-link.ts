import type { Deps } from '../deps.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { isSignInToken } from '../credentials/domain/session-token.ts';
import { isSignInLinkOpen } from './sign-in-links.sql.ts';

/**
 * Whether a one-time link would still open a session. The answer is the same for a used link and
 * for one that never existed, so a guess reveals nothing.
 */
export async function checkSignInLink(
  { db }: Deps,
  { token }: { token: string },
): Promise<{ works: boolean }> {
  return {
    works: isSignInToken(token) && (await isSignInLinkOpen(db, { hash: hashToken(token) })),
  };
}
