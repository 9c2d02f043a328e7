import type { Profile } from '#contracts/http/profile';
import type { Deps } from '../deps.ts';
import { readPerson, readProfile } from './read-profile.ts';

export async function getProfile(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
): Promise<Profile> {
  return readProfile(db, readPerson({ readPrincipal }, principal));
}
