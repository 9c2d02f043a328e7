import { LRUCache } from 'lru-cache';

import { principal as principalSchema } from '#contracts/vocabulary';
import type { Principal } from '#contracts/vocabulary';
import { createVerifier, verifyFresh } from '#signing';

/**
 * Reads signed principals: genuine ones that have not expired. The gateway sends the same one for
 * as long as it holds it, so the same text is verified once; its end is checked each time.
 */
export function createPrincipalReader(key: string): (signed: string) => Principal {
  const verifier = createVerifier('principal', key, principalSchema);
  const verified = new LRUCache<string, Principal>({ max: 2_000, ttl: 5_000, ttlResolution: 0 });
  return (signed) =>
    verifyFresh(
      {
        verify(text) {
          const known = verified.get(text);
          if (known !== undefined) return known;
          const caller = verifier.verify(text);
          verified.set(text, caller);
          return caller;
        },
      },
      signed,
    );
}
