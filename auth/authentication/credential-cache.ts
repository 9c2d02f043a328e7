import { credentialCachedMs } from '#contracts/bus/auth';
import type { Principal, Scope } from '#contracts/vocabulary';
import type { Database, Sql } from '#database';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';
import type { LookupCache } from '#cache';
import type { Signer } from '#signing';
import { actsForAuditor, standingOf } from '../identities/domain/identity.ts';
import {
  findAccessTokenCredential,
  findAgentKeyCredential,
  findSessionCredential,
} from './credentials.sql.ts';
import type { FoundCredential } from './credentials.sql.ts';

export type CredentialKind = Principal['credential']['kind'];

export interface AuthenticateReply {
  readonly principal: string;
  readonly claims: Principal;
}

interface CredentialLookup {
  readonly credentialKind: CredentialKind;
  readonly hash: Buffer;
}

export type CredentialCache = LookupCache<CredentialLookup, AuthenticateReply>;

const principalLifetimeMs = 10_000;

/**
 * The scopes of an agent key: every scope except `user`, which only a session has
 * (docs/reference/identities.md#scopes).
 */
const agentKeyScopes: readonly Scope[] = ['actions:read', 'actions:call', 'approvals', 'agents'];
const sessionScopes: readonly Scope[] = [...agentKeyScopes, 'user'];

interface CredentialCacheOptions {
  readonly db: Database;
  readonly signer: Signer<Principal>;
  readonly now: () => number;
}

/**
 * Makes a database query unnecessary for most calls. Every change of a credential, an identity or a
 * chain empties the cache.
 */
export function createCredentialCache({
  db,
  signer,
  now,
}: CredentialCacheOptions): CredentialCache {
  return createLookupCache({
    max: 10_000,
    ttlMs: credentialCachedMs,
    lookUp: async ({ credentialKind, hash }) => {
      const credential = await findCredential(db, credentialKind, hash);
      if (credential === undefined) throw credentialNotValidError(credentialKind);
      const claims = claimsOf(credential, now());
      return { principal: signer.sign(claims), claims };
    },
  });
}

const refusalMessages = {
  bearer:
    'The credential is not valid (any more). Use an agent key or an access token that is neither expired nor revoked.',
  session: 'The session has ended. Sign in again.',
} as const;

export function credentialNotValidError(kind: CredentialKind | 'bearer'): AppError {
  return new AppError(
    'unauthenticated',
    refusalMessages[kind === 'session' ? 'session' : 'bearer'],
  );
}

interface ScopedCredential extends FoundCredential {
  readonly credentialKind: CredentialKind;
  readonly clientId: string | null;
  readonly scopes: readonly Scope[];
}

async function findCredential(
  sql: Sql,
  kind: CredentialKind,
  hash: Buffer,
): Promise<ScopedCredential | undefined> {
  if (kind === 'access_token') {
    const credential = await findAccessTokenCredential(sql, { hash });
    return credential && { ...credential, credentialKind: kind };
  }
  const isSession = kind === 'session';
  const credential = await (isSession ? findSessionCredential : findAgentKeyCredential)(sql, {
    hash,
  });
  const scopes = isSession ? sessionScopes : agentKeyScopes;
  return credential && { ...credential, credentialKind: kind, clientId: null, scopes };
}

function claimsOf(credential: ScopedCredential, nowMs: number): Principal {
  const chainStanding = standingOf(credential.chain);
  if (chainStanding === 'revoked' || chainStanding === 'expired') {
    throw credentialNotValidError(credential.credentialKind);
  }
  if (chainStanding === 'archived' && actsForAuditor(credential.chain)) {
    throw new AppError(
      'identity_archived',
      'Its user is an auditor, and an auditor has nothing done; ask an admin for the role of a member.',
    );
  }
  if (chainStanding === 'archived') {
    throw new AppError(
      'identity_archived',
      'This identity or one above it is archived; ask its owner to restore it.',
    );
  }
  return {
    orgId: credential.orgId,
    identityId: credential.identityId,
    kind: credential.kind,
    userId: credential.ownerId,
    // Only users have a role, so it is null when the credential acts as an agent or subagent.
    role: credential.role,
    chain: credential.chain.map(({ id, kind: linkKind, name, inheritPermissions }) => ({
      id,
      kind: linkKind,
      name,
      inheritPermissions,
    })),
    autoCallOnApprove: credential.autoCallOnApprove,
    credential: {
      kind: credential.credentialKind,
      id: credential.credentialId,
      clientId: credential.clientId,
    },
    scopes: [...credential.scopes],
    issuedAt: nowMs,
    expiresAt: expiryOf(credential.chain, nowMs),
  };
}

/**
 * A principal expires no later than any identity in its chain. So the expiry of an identity takes
 * effect without an event.
 */
function expiryOf(chain: FoundCredential['chain'], nowMs: number): number {
  const endTimesMs = chain.flatMap(({ endsAtMs }) => endsAtMs ?? []);
  return Math.min(nowMs + principalLifetimeMs, ...endTimesMs);
}
