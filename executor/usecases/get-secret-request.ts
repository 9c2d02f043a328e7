import type { SecretRequest } from '#contracts/http/secret-requests';
import type { Deps } from '../deps.ts';
import { findNamedSecret } from '../repository/secret.ts';
import { getOpenRequest, nameTaken } from '../secrets/get-open-request.ts';
import { presentSecretRequest } from '../secrets/present-request.ts';

/** What the person reads before entering anything; refused as entering it would be. */
export async function getSecretRequest(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, token }: { principal: string; token: string },
): Promise<SecretRequest> {
  const request = await getOpenRequest(db, readPrincipal(principal), token);
  if (await findNamedSecret(db, request)) throw nameTaken(request);
  return presentSecretRequest(request);
}
