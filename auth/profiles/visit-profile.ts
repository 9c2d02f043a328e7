import type { Profile } from '#contracts/http/profile';
import type { Deps } from '../deps.ts';
import { readPerson, readProfile } from './read-profile.ts';
import { noteSign } from './visitors.sql.ts';

/** Notes that the person is here, which may begin a visit, and answers with the profile. */
export async function visitProfile(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
): Promise<Profile> {
  const person = readPerson({ readPrincipal }, principal);
  await noteSign(db, person);
  return readProfile(db, person);
}
