import { randomUUIDv7 } from 'node:crypto';

import type { DecisionStatement, ProposedDecision } from '#contracts/decision';
import { mayUse } from '#contracts/scopes';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { rememberedEnd } from '../domain/remembered-end.ts';
import { isSelfApproving } from '../repository/oauth-bindings.ts';
import { authenticate } from './authenticate.ts';
import { getOrgSettings } from './get-org-settings.ts';

interface DecisionRequest {
  readonly kind: 'bearer' | 'session';
  readonly token: string;
  readonly proposed: ProposedDecision;
  readonly ttl: string | null;
  readonly forever: boolean;
}

/**
 * Signs that the owner of this credential allows a call. Takes the credential itself: what a
 * principal said is known to every component that it was sent to. Whether the decider may allow
 * the call is for policy to say, which has the gap.
 */
export async function signDecision(
  deps: Deps,
  { kind, token, proposed, ttl, forever }: DecisionRequest,
): Promise<{ decision: string }> {
  const { claims } = await authenticate(deps, { kind, token });
  if (!mayUse(claims, 'approvals')) {
    throw new AppError('insufficient_scope', 'This needs the scope approvals.', {
      details: { scope: 'approvals' },
    });
  }
  const isSelf = proposed.as === 'self';
  if (isSelf) await assertSelfApproving(deps, claims);
  const at = deps.now();
  const isRemembered = proposed.resolution === 'allow_remember';
  const settings = isRemembered ? await getOrgSettings(deps, claims) : null;
  const statement: DecisionStatement = {
    ...proposed,
    jti: randomUUIDv7(),
    orgId: claims.orgId,
    deciderId: claims.identityId,
    deciderKind: claims.kind,
    role: claims.role,
    clientId: claims.credential.clientId,
    expiresAt: settings && rememberedEnd({ ttl, forever, isSelf }, { settings, now: at }),
    at,
  };
  deps.logger.info(
    { approvalId: proposed.approvalId, deciderId: claims.identityId, jti: statement.jti },
    'decision signed',
  );
  return { decision: deps.decisionSigner.sign(statement) };
}

async function assertSelfApproving({ db }: Deps, claims: Principal): Promise<void> {
  const { orgId, userId, identityId, kind, credential } = claims;
  const { clientId } = credential;
  const isEnabled =
    credential.kind === 'access_token' &&
    clientId !== null &&
    kind === 'agent' &&
    (await isSelfApproving(db, { orgId, userId, clientId, agentId: identityId }));
  if (isEnabled) return;
  throw new AppError(
    'self_approval_disabled',
    'This client may not decide its own approvals; its user can switch that on for the connection.',
  );
}
