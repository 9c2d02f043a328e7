import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from './deps.ts';
import { seesWholeOrg } from './domain/access.ts';

/** Admins change what belongs to the org; auditors look at it. */
export function readReader({ readPrincipal }: Pick<Deps, 'readPrincipal'>, signed: string) {
  const caller: Principal = readPrincipal(signed);
  if (seesWholeOrg(caller)) return caller;
  throw new AppError('forbidden', 'Only admins and auditors of the org may see this.');
}

export function readAdmin({ readPrincipal }: Pick<Deps, 'readPrincipal'>, signed: string) {
  const caller: Principal = readPrincipal(signed);
  if (caller.role === 'admin') return caller;
  throw new AppError('forbidden', 'Only an admin of the org may do this; ask one.');
}
