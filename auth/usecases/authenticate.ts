import type { Principal, Scope } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { isAgentKey } from '../domain/agent-key.ts';
import { hashOf } from '../domain/checked-token.ts';
import { isSessionToken } from '../domain/dashboard-session.ts';
import { standingOf } from '../domain/identity.ts';
import { findAgentKeyCredential, findSessionCredential } from '../repository/credentials.ts';
import type { FoundCredential } from '../repository/credentials.ts';

export interface AuthenticateReply {
  readonly principal: string;
  readonly claims: Principal;
}

const principalLivesMs = 10_000;

/** An agent key has every scope but `user`; a session also acts as the user (decisions: Scopes). */
const agentKeyScopes: readonly Scope[] = ['actions:read', 'actions:call', 'approvals', 'agents'];
const sessionScopes: readonly Scope[] = [...agentKeyScopes, 'user'];

const refused = {
  bearer:
    'The credential is not valid (any more). Use an agent key that is neither expired nor revoked.',
  session: 'The session has ended. Sign in again.',
} as const;

/** Turns a credential into a signed principal. A session is no bearer, and an agent key no cookie. */
export async function authenticate(
  deps: Deps,
  { kind, token }: { kind: 'bearer' | 'session'; token: string },
): Promise<AuthenticateReply> {
  const isWellFormed = kind === 'bearer' ? isAgentKey(token) : isSessionToken(token);
  if (!isWellFormed) throw new AppError('unauthenticated', refused[kind]);

  const hash = hashOf(token);
  const reply = await deps.credentials.get(hash.toString('base64'), async () => {
    const find = kind === 'bearer' ? findAgentKeyCredential : findSessionCredential;
    const found = await find(deps.db, { hash });
    if (found === undefined) throw new AppError('unauthenticated', refused[kind]);
    const claims = claimsOf(found, kind, deps.now());
    return { principal: deps.signer.sign(claims), claims };
  });

  const { orgId, identityId, credential } = reply.claims;
  const credentialKind = kind === 'bearer' ? 'agent_key' : 'session';
  deps.activity.note({
    orgId,
    identityId,
    credential: { kind: credentialKind, id: credential.id },
  });
  return reply;
}

function claimsOf(found: FoundCredential, kind: 'bearer' | 'session', now: number): Principal {
  const standing = standingOf(found.chain);
  if (standing === 'revoked' || standing === 'expired') {
    throw new AppError('unauthenticated', refused[kind]);
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
    role: kind === 'session' ? found.role : null,
    chain: found.chain.map(({ id, kind: linkKind, name, inheritPermissions }) => ({
      id,
      kind: linkKind,
      name,
      inheritPermissions,
    })),
    autoCallOnApprove: found.autoCallOnApprove,
    credential: {
      kind: kind === 'bearer' ? 'agent_key' : 'session',
      id: found.credentialId,
      clientId: null,
    },
    scopes: [...(kind === 'bearer' ? agentKeyScopes : sessionScopes)],
    expiresAt: now + principalLivesMs,
  };
}
