import { hash } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import { credentialCachedMs } from '#contracts/bus/auth';
import type { auth } from '#contracts/bus/auth';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';
import { requireKnownLimits } from '#signing';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Caller, Credential } from './caller.ts';

export interface Authenticator {
  /**
   * Throws `unauthenticated` for an unknown, expired or revoked credential. If `address` is given,
   * failed attempts from this address are counted. After too many of them, credentials from this
   * address are refused with `rate_limited` and not looked up. Credentials that were valid at their
   * last look-up are excepted.
   */
  authenticate(credential: Credential, address?: string): Promise<Caller>;
  /** Drops all cached callers, because a credential, chain or role has changed. */
  forget(): void;
}

interface PresentedCredential extends Credential {
  /** The cache key: a digest of the credential. */
  readonly key: string;
}

const cachedEntriesMax = 20_000;
const provenDigestsMax = 50_000;
/**
 * A principal must be valid for at least this long when it is returned, so that other components
 * still accept it a moment later.
 */
const remainingMsMin = 4_000;
const tokenCharactersMax = 512;

/**
 * Looks tokens up at auth and caches the callers for half a second. The answer of auth may itself
 * be half a second old, so a revocation takes effect within a second
 * (docs/reference/identities.md#lifetimes).
 */
export function createAuthenticator(
  client: Pick<Client<typeof auth>, 'authenticate'>,
  { countAttempt }: Pick<RateLimits, 'countAttempt'>,
): Authenticator {
  /**
   * The digests of credentials that were valid at their last look-up. These credentials keep
   * working while many invalid ones come from the same address.
   */
  const provenDigests = new LRUCache<string, true>({ max: provenDigestsMax });

  const callerCache = createLookupCache<PresentedCredential, Caller>({
    max: cachedEntriesMax,
    ttlMs: credentialCachedMs,
    lookUp: async ({ key, kind, token }) => {
      try {
        const caller = await client.authenticate({ kind, token }, deadlineIn(2_000));
        requireKnownLimits('principal', caller.principal);
        provenDigests.set(key, true);
        return caller;
      } catch (error) {
        if (wasRefusedByAuth(error)) provenDigests.delete(key);
        throw error;
      }
    },
  });

  return {
    async authenticate(credential, address) {
      const key = hash('sha256', `${credential.kind}\0${credential.token}`, 'base64');
      const isCounted = address !== undefined && !provenDigests.has(key);
      const attempt = isCounted ? countAttempt(address) : undefined;
      if (attempt?.refusal) throw attempt.refusal;
      if (credential.token.length > tokenCharactersMax) throw notAcceptedError();
      const presented = { key, ...credential };
      try {
        const caller = await callerCache.get(key, presented);
        attempt?.forgive();
        if (caller.claims.expiresAt - Date.now() >= remainingMsMin) return caller;
      } catch (error) {
        if (!wasRefusedByAuth(error)) attempt?.forgive();
        throw error;
      }
      return callerCache.refresh(key, presented);
    },
    forget: () => callerCache.drop(),
  };
}

/**
 * Whether auth refused the credential or its identity. With any other error, auth could not decide.
 */
function wasRefusedByAuth(error: unknown): boolean {
  return ['unauthenticated', 'identity_archived'].includes(AppError.from(error).code);
}

function notAcceptedError(): AppError {
  return new AppError(
    'unauthenticated',
    'The credential is not valid; sign in or use another key.',
  );
}
