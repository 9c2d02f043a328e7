import type { Deps } from '../deps.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { isSignInToken } from '../credentials/domain/session-token.ts';
import { isSignInLinkOpen } from './sign-in-links.sql.ts';

/**
 * Whether a one-time link could still open a session. The response is the same for a used link and
 * for a link that never existed, so a guess reveals nothing.
 */
export async function checkSignInLink(
  { db }: Deps,
  { token }: { token: string },
): Promise<{ works: boolean }> {
  return {
    works: isSignInToken(token) && (await isSignInLinkOpen(db, { hash: hashToken(token) })),
  };
}
