import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import { LRUCache } from 'lru-cache';

import { deadlineIn } from '#bus';
import type { Client } from '#bus';
import type { auth } from '#contracts/bus/auth';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';
import { isOwnOrigin, readCookie } from './domain/site.ts';
import type { Site } from './domain/site.ts';
import type { RateLimits } from './rate-limits.ts';

/** Who calls: the principal as auth signed it, and what it says. */
export interface Caller {
  readonly principal: string;
  readonly claims: Principal;
}

export interface Credential {
  readonly kind: 'bearer' | 'session';
  readonly token: string;
}

export interface Authenticator {
  /**
   * Throws `unauthenticated` for anything unknown, expired or revoked. With the address that a
   * credential came from, failures are counted, and after too many of them no further credential
   * from there is looked up (`rate_limited`), except those that were valid a while ago.
   */
  authenticate(credential: Credential, address?: string): Promise<Caller>;
  /** Forgets everybody: somebody's credential, chain or role has changed. */
  forget(): void;
}

interface Presented extends Credential {
  /** What the caches know it by: a digest. */
  readonly key: string;
}

const cachedMsMax = 1_000;
const cachedEntriesMax = 20_000;
const provenMax = 50_000;
/** A principal goes out only with enough time left for the components behind us to accept it. */
const remainingMsMin = 4_000;
const tokenCharactersMax = 512;

/**
 * Looks tokens up at auth and keeps the answers for a second, so that a revocation holds within one
 * (docs/reference/identities.md#lifetimes).
 */
export function createAuthenticator(
  client: Pick<Client<typeof auth>, 'authenticate'>,
  { ofAttempt }: Pick<RateLimits, 'ofAttempt'>,
): Authenticator {
  /** Those that were valid when they were last looked up: a flood from their address does not stop them. */
  const proven = new LRUCache<string, true>({ max: provenMax });

  const callers = createLookupCache<Presented, Caller>({
    max: cachedEntriesMax,
    ttlMs: cachedMsMax,
    lookUp: async ({ key, kind, token }) => {
      try {
        const caller = await client.authenticate({ kind, token }, deadlineIn(2_000));
        proven.set(key, true);
        return caller;
      } catch (error) {
        if (isNotValid(error)) proven.delete(key);
        throw error;
      }
    },
  });

  return {
    async authenticate(credential, address) {
      const key = hash('sha256', `${credential.kind}\0${credential.token}`, 'base64');
      const isCounted = address !== undefined && !proven.has(key);
      const attempt = isCounted ? ofAttempt(address) : undefined;
      if (attempt?.refusal) throw attempt.refusal;
      if (credential.token.length > tokenCharactersMax) throw notAccepted();
      const presented = { key, ...credential };
      try {
        const caller = await callers.get(key, presented);
        attempt?.forgive();
        if (caller.claims.expiresAt - Date.now() >= remainingMsMin) return caller;
      } catch (thrown) {
        if (!isNotValid(thrown)) attempt?.forgive();
        throw thrown;
      }
      return callers.refresh(key, presented);
    },
    forget: () => callers.drop(),
  };
}

/** Whether auth refused the credential or its identity, as opposed to being unavailable. */
function isNotValid(thrown: unknown): boolean {
  return ['unauthenticated', 'identity_archived'].includes(AppError.from(thrown).code);
}

function notAccepted(): AppError {
  return new AppError(
    'unauthenticated',
    'The credential is not valid; sign in or use another key.',
  );
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The credential of a request: a bearer, else the session cookie. With both, the bearer alone
 * counts; with the cookie, an unsafe method must come from our own pages.
 */
export function readCredential(
  site: Site,
  { method, headers }: { method: string; headers: IncomingHttpHeaders },
): Credential {
  const { authorization } = headers;
  if (authorization !== undefined) {
    const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization)?.[1];
    if (token !== undefined) return { kind: 'bearer', token };
    throw new AppError(
      'unauthenticated',
      'The Authorization header is not a bearer token; send "Authorization: Bearer <token>".',
    );
  }
  const session = readCookieSession(site, headers);
  if (session === null) {
    throw new AppError(
      'unauthenticated',
      'No credential was sent; use "Authorization: Bearer <token>" or sign in.',
    );
  }
  if (!safeMethods.has(method) && !isOwnOrigin(site, headers)) {
    throw new AppError(
      'forbidden',
      `A session may change things only from the gateway's own pages; send "Origin: ${site.origin}", or use a bearer token.`,
    );
  }
  return session;
}

/** The session cookie, for pages that only look who is there. */
export function readCookieSession(
  site: Site,
  { cookie }: Pick<IncomingHttpHeaders, 'cookie'>,
): Credential | null {
  const token = readCookie(cookie, site.cookieName);
  return token === undefined || token === '' ? null : { kind: 'session', token };
}
