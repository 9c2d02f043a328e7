import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { findLocalAccount } from '../users/local-accounts.sql.ts';
import type { LocalAccount } from '../users/local-accounts.sql.ts';
import { wasJustOpenedByLink } from '../sessions/own-sessions.sql.ts';

/**
 * How the caller may set a password: by giving the current password, or because the caller's
 * session was opened by a one-time link.
 */
export interface WaysToSetPassword {
  readonly caller: Principal;
  readonly account: LocalAccount | undefined;
  readonly isFromLink: boolean;
}

export async function findWaysToSetPassword(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  principal: string,
): Promise<WaysToSetPassword> {
  const caller = readPrincipal(principal);
  const { orgId, identityId, credential } = caller;
  if (credential.kind !== 'session') return { caller, account: undefined, isFromLink: false };
  return {
    caller,
    account: await findLocalAccount(db, { orgId, identityId }),
    isFromLink: await wasJustOpenedByLink(db, { orgId, id: credential.id }),
  };
}
