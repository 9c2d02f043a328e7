import type { Deps } from '../deps.ts';
import { findWaysToSetPassword } from './ways-to-set-password.ts';

/** Says whether the caller may set a password, and what is needed for it. */
export async function describePassword(
  deps: Deps,
  { principal }: { principal: string },
): Promise<{ possible: boolean; email: string | null; needsCurrent: boolean }> {
  const { account, isFromLink } = await findWaysToSetPassword(deps, principal);
  const hasPassword = (account?.passwordHash ?? null) !== null;
  return {
    possible: isFromLink || hasPassword,
    email: account?.email ?? null,
    needsCurrent: !isFromLink,
  };
}
