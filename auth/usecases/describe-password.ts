import type { Deps } from '../deps.ts';
import { findPasswordStanding } from '../sign-in/password-standing.ts';

/** What a person has to give to set a password. */
export async function describePassword(
  deps: Deps,
  { principal }: { principal: string },
): Promise<{ possible: boolean; email: string | null; needsCurrent: boolean }> {
  const { account, isFromLink } = await findPasswordStanding(deps, principal);
  const hasPassword = (account?.passwordHash ?? null) !== null;
  return {
    possible: isFromLink || hasPassword,
    email: account?.email ?? null,
    needsCurrent: !isFromLink,
  };
}
