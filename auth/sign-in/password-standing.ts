import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { findLocalAccount } from '../repository/local-accounts.ts';
import type { LocalAccount } from '../repository/local-accounts.ts';
import { isFreshFromLink } from '../repository/own-sessions.ts';

/** How the caller may set a password: with the one it has, or with the link it came by. */
export interface PasswordStanding {
  readonly caller: Principal;
  readonly account: LocalAccount | undefined;
  readonly isFromLink: boolean;
}

export async function findPasswordStanding(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  principal: string,
): Promise<PasswordStanding> {
  const caller = readPrincipal(principal);
  const { orgId, identityId, credential } = caller;
  if (credential.kind !== 'session') return { caller, account: undefined, isFromLink: false };
  return {
    caller,
    account: await findLocalAccount(db, { orgId, identityId }),
    isFromLink: await isFreshFromLink(db, { orgId, id: credential.id }),
  };
}
