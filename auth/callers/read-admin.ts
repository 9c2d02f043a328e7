import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { seesWholeOrg } from './domain/roles.ts';

/** Reads the caller of a request that only admins and auditors of the org may make. */
export function readAdminOrAuditor({ readPrincipal }: Pick<Deps, 'readPrincipal'>, signed: string) {
  const caller: Principal = readPrincipal(signed);
  if (seesWholeOrg(caller)) return caller;
  throw new AppError('forbidden', 'Only admins and auditors of the org may see this.');
}

/** Reads the caller of a request that only admins of the org may make. */
export function readAdmin({ readPrincipal }: Pick<Deps, 'readPrincipal'>, signed: string) {
  const caller: Principal = readPrincipal(signed);
  if (caller.role === 'admin') return caller;
  throw new AppError('forbidden', 'Only an admin of the org may do this; ask one.');
}
