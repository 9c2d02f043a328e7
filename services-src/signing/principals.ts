import { LRUCache } from 'lru-cache';

import { principal as principalSchema } from '#contracts/vocabulary';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { isEarly, isExpired } from './expiry.ts';
import { createVerifier } from './statements.ts';

/**
 * Reads signed principals and refuses forged, expired and future ones. The gateway sends the same signed
 * text until the principal expires, so the signature of a text is verified only once, and its
 * expiry each time.
 */
export function createPrincipalReader(key: string): (signed: string) => Principal {
  const verifier = createVerifier('principal', key, principalSchema);
  const verifiedPrincipals = new LRUCache<string, Principal>({
    max: 2_000,
    ttl: 5_000,
    ttlResolution: 0,
  });
  const readPrincipal = (signed: string): Principal => {
    const cachedPrincipal = verifiedPrincipals.get(signed);
    if (cachedPrincipal !== undefined) return cachedPrincipal;
    const caller = verifier.verify(signed);
    verifiedPrincipals.set(signed, caller);
    return caller;
  };
  return (signed) => {
    const caller = readPrincipal(signed);
    if (isEarly(caller.issuedAt)) {
      throw new AppError('unauthenticated', 'The clocks of two components differ; repeat this.');
    }
    if (!isExpired(caller.expiresAt)) return caller;
    throw new AppError('unauthenticated', 'This request took too long to arrive; repeat it.');
  };
}
