import type { SecretRequest } from '#contracts/http/secret-requests';
import type { Deps } from '../deps.ts';
import { findRefusedSecret } from './refused-secret.ts';
import { getOpenSecretRequest } from './get-open-secret-request.ts';
import { presentSecretRequest } from './present-secret-request.ts';

/**
 * Returns the secret request that a person reads before entering the secret. Throws for the same
 * callers as entering the secret does.
 */
export async function getSecretRequest(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal, token }: { principal: string; token: string },
): Promise<SecretRequest> {
  const request = await getOpenSecretRequest(db, readPrincipal(principal), token);
  return presentSecretRequest(request, await findRefusedSecret(db, request));
}
