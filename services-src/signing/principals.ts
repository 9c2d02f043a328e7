import { LRUCache } from 'lru-cache';

import { principal as principalSchema } from '#contracts/vocabulary';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { isExpired } from './expiry.ts';
import { createVerifier } from './statements.ts';

/**
 * Reads signed principals: genuine ones that have not expired. The gateway sends the same one for
 * as long as it holds it, so the same text is verified once; its end is checked each time.
 */
export function createPrincipalReader(key: string): (signed: string) => Principal {
  const verifier = createVerifier('principal', key, principalSchema);
  const verified = new LRUCache<string, Principal>({ max: 2_000, ttl: 5_000, ttlResolution: 0 });
  const read = (signed: string): Principal => {
    const known = verified.get(signed);
    if (known !== undefined) return known;
    const caller = verifier.verify(signed);
    verified.set(signed, caller);
    return caller;
  };
  return (signed) => {
    const caller = read(signed);
    if (!isExpired(caller.expiresAt)) return caller;
    throw new AppError('unauthenticated', 'This request took too long to arrive; repeat it.');
  };
}
