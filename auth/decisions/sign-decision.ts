import { randomUUIDv7 } from 'node:crypto';

import type { DecisionStatement, ProposedDecision } from '#contracts/decision';
import { mayUseRoute } from '#contracts/scopes';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { rulesExpiryOf } from './domain/rules-expiry.ts';
import { isSelfApproving } from '../oauth-clients/oauth-bindings.sql.ts';
import { authenticate } from '../authentication/authenticate.ts';
import { getOrgSettings } from '../orgs/get-org-settings.ts';

interface SignDecisionRequest {
  readonly kind: 'bearer' | 'session';
  readonly token: string;
  readonly proposed: ProposedDecision;
  readonly ttl: string | null;
  readonly forever: boolean;
}

/**
 * Signs that the owner of a credential allows a call. The request must contain the credential
 * itself. A principal is not enough as proof, because every component that has received a caller's
 * principal could use it here. Policy decides whether the owner may allow the call.
 */
export async function signDecision(
  deps: Deps,
  { kind, token, proposed, ttl, forever }: SignDecisionRequest,
): Promise<{ decision: string }> {
  const { claims } = await authenticate(deps, { kind, token });
  if (!mayUseRoute(claims, 'approvals')) {
    throw new AppError('insufficient_scope', 'This needs the scope approvals.', {
      details: { scope: 'approvals' },
    });
  }
  const isSelf = proposed.as === 'self';
  if (isSelf) await assertSelfApproving(deps, claims);
  const nowMs = deps.now();
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
    expiresAt: settings && rulesExpiryOf({ ttl, forever, isSelf }, { settings, now: nowMs }),
    at: nowMs,
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
