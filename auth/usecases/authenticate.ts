import type { Principal, Scope } from '#contracts/vocabulary';
import type { Sql } from '#database';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';
import type { LookupCache } from '#cache';
import type { Deps } from '../deps.ts';
import { isAgentKey } from '../domain/agent-key.ts';
import { hashOf } from '../domain/checked-token.ts';
import { isSessionToken } from '../domain/dashboard-session.ts';
import { actsForAuditor, standingOf } from '../domain/identity.ts';
import {
  findAccessTokenCredential,
  findAgentKeyCredential,
  findSessionCredential,
} from '../repository/credentials.ts';
import type { FoundCredential } from '../repository/credentials.ts';

export interface AuthenticateReply {
  readonly principal: string;
  readonly claims: Principal;
}

const principalLivesMs = 10_000;

/** An agent key has every scope but `user`; a session has that too (docs/reference/identities.md#scopes). */
const agentKeyScopes: readonly Scope[] = ['actions:read', 'actions:call', 'approvals', 'agents'];
const sessionScopes: readonly Scope[] = [...agentKeyScopes, 'user'];

const refused = {
  bearer:
    'The credential is not valid (any more). Use an agent key or an access token that is neither expired nor revoked.',
  session: 'The session has ended. Sign in again.',
} as const;

/** 256 random bits as the authorization server writes them; our own kinds have prefixes. */
const accessTokenShape = /^[\w-]{43}$/;

type CredentialKind = Principal['credential']['kind'];

interface CredentialAt {
  readonly credentialKind: CredentialKind;
  readonly hash: Buffer;
}

export type CredentialCache = LookupCache<CredentialAt, AuthenticateReply>;

/** Half of the second that a revocation may take when its event is lost; the rest is the gateway's. */
const cachedMs = 500;

/** Spares a query for most calls. Whatever changes a credential, an identity or its chain drops it. */
export function createCredentialCache({
  db,
  signer,
  now,
}: Pick<Deps, 'db' | 'signer' | 'now'>): CredentialCache {
  return createLookupCache({
    max: 10_000,
    ttlMs: cachedMs,
    lookUp: async ({ credentialKind, hash }) => {
      const found = await find(db, credentialKind, hash);
      if (found === undefined) throw notValid(credentialKind);
      const claims = claimsOf(found, now());
      return { principal: signer.sign(claims), claims };
    },
  });
}

/** Turns a credential into a signed principal. A session is no bearer, and a bearer no cookie. */
export async function authenticate(
  deps: Deps,
  { kind, token }: { kind: 'bearer' | 'session'; token: string },
): Promise<AuthenticateReply> {
  const credentialKind = kindOf(kind, token);
  if (credentialKind === undefined) throw new AppError('unauthenticated', refused[kind]);

  const hash = hashOf(token);
  const reply = await deps.credentials.get(hash.toString('base64'), { credentialKind, hash });

  const { orgId, identityId, credential } = reply.claims;
  deps.activity.note({ orgId, identityId, credential });
  return reply;
}

function notValid(kind: CredentialKind): AppError {
  return new AppError('unauthenticated', refused[kind === 'session' ? 'session' : 'bearer']);
}

function kindOf(kind: 'bearer' | 'session', token: string): CredentialKind | undefined {
  if (kind === 'session') return isSessionToken(token) ? 'session' : undefined;
  if (isAgentKey(token)) return 'agent_key';
  return accessTokenShape.test(token) ? 'access_token' : undefined;
}

interface Found extends FoundCredential {
  readonly credentialKind: CredentialKind;
  readonly clientId: string | null;
  readonly scopes: readonly Scope[];
}

async function find(sql: Sql, kind: CredentialKind, hash: Buffer): Promise<Found | undefined> {
  if (kind === 'access_token') {
    const found = await findAccessTokenCredential(sql, { hash });
    return found && { ...found, credentialKind: kind };
  }
  const isSession = kind === 'session';
  const found = await (isSession ? findSessionCredential : findAgentKeyCredential)(sql, { hash });
  const scopes = isSession ? sessionScopes : agentKeyScopes;
  return found && { ...found, credentialKind: kind, clientId: null, scopes };
}

function claimsOf(found: Found, now: number): Principal {
  const standing = standingOf(found.chain);
  if (standing === 'revoked' || standing === 'expired') {
    throw notValid(found.credentialKind);
  }
  if (standing === 'archived' && actsForAuditor(found.chain)) {
    throw new AppError(
      'identity_archived',
      'Its user is an auditor, and an auditor has nothing done; ask an admin for the role of a member.',
    );
  }
  if (standing === 'archived') {
    throw new AppError(
      'identity_archived',
      'This identity or one above it is archived; ask its owner to restore it.',
    );
  }
  return {
    orgId: found.orgId,
    identityId: found.identityId,
    kind: found.kind,
    userId: found.ownerId,
    // Users alone have one, and only sessions and tokens of scope `user` resolve to a user.
    role: found.role,
    chain: found.chain.map(({ id, kind: linkKind, name, inheritPermissions }) => ({
      id,
      kind: linkKind,
      name,
      inheritPermissions,
    })),
    autoCallOnApprove: found.autoCallOnApprove,
    credential: {
      kind: found.credentialKind,
      id: found.credentialId,
      clientId: found.clientId,
    },
    scopes: [...found.scopes],
    expiresAt: endOf(found.chain, now),
  };
}

/** No principal outlives its identity, or one above it: an end needs no event to hold at once. */
function endOf(chain: Found['chain'], now: number): number {
  const ends = chain.flatMap(({ endsAtMs }) => endsAtMs ?? []);
  return Math.min(now + principalLivesMs, ...ends);
}
