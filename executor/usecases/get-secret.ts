import type { Secret } from '#contracts/http/secrets';
import type { Deps } from '../deps.ts';
import { getVisibleSecret } from '../secrets/get-visible.ts';
import { presentSecret } from '../secrets/present.ts';

export async function getSecret(
  { db, verifyPrincipal }: Pick<Deps, 'db' | 'verifyPrincipal'>,
  { principal, id }: { principal: string; id: string },
): Promise<Secret> {
  return presentSecret(await getVisibleSecret(db, verifyPrincipal(principal), id));
}
