import type { Profile } from '#contracts/http/profile';
import type { Deps } from '../deps.ts';
import { readPerson, readProfile } from './read-profile.ts';
import { noteSign } from './visitors.sql.ts';

/**
 * Records that the person is using the dashboard, which may begin a new visit. Returns the profile.
 */
export async function visitProfile(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
): Promise<Profile> {
  const person = readPerson({ readPrincipal }, principal);
  await noteSign(db, person);
  return readProfile(db, person);
}
