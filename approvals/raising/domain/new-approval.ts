import type { Call } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import { cardFactsOf } from '#templates';
import type { Approval, ApprovalCard } from '../../approval/domain/approval.ts';

type FrozenFields = Pick<
  Approval,
  | 'requesterId'
  | 'userId'
  | 'chain'
  | 'ladder'
  | 'placementId'
  | 'service'
  | 'serviceId'
  | 'credentialId'
  | 'risk'
  | 'nonRead'
  | 'autoCallOnApprove'
  | 'createdAt'
> & { readonly callDigest: string; readonly subtreeId: string };

/** The fields that an approval takes from policy's permission gap. They never change. */
export function frozenFieldsOf(gap: Gap): FrozenFields {
  const { target } = gap;
  return {
    requesterId: gap.identityId,
    userId: gap.userId,
    subtreeId: subtreeIdOf(gap),
    chain: gap.chain.map((link) => link.id),
    ladder: gap.ladder,
    placementId: gap.placement.id,
    service: target.kind === 'raw' ? 'http' : target.service,
    serviceId: target.kind === 'raw' ? null : target.serviceId,
    // A remembered rule holds only for this credential. If the call uses no credential, the rule
    // holds only for calls without credentials.
    credentialId: gap.injections[0]?.credentialId ?? null,
    risk: gap.risk,
    nonRead: gap.nonRead,
    autoCallOnApprove: gap.autoCallOnApprove,
    createdAt: new Date(gap.issuedAt),
    callDigest: gap.callDigest,
  };
}

export function createCard(
  gap: Gap,
  call: Call,
  shownFields: Pick<
    ApprovalCard,
    'description' | 'request' | 'disclosed' | 'context' | 'serviceTitle' | 'traceparent'
  >,
): ApprovalCard {
  const { target, credential } = gap;
  const cardFacts = cardFactsOf(gap, call);
  return {
    requester: cardFacts.requester,
    placement: cardFacts.placement,
    template: cardFacts.template,
    ...(target.kind === 'action' && target.runtime ? { runtime: target.runtime } : {}),
    action: cardFacts.action,
    permissionKeys: cardFacts.permission_keys,
    derivedKeys: cardFacts.derived_keys,
    suggestedTiers: cardFacts.suggested_tiers,
    credential: { kind: credential.kind, id: credential.id, client_id: credential.clientId },
    ...shownFields,
  };
}

/**
 * The id of the nearest agent in the chain. This agent and its subagents share one limit of
 * approvals.
 */
export function subtreeIdOf({ chain, identityId }: Pick<Gap, 'chain' | 'identityId'>): string {
  return chain.findLast((link) => link.kind === 'agent')?.id ?? identityId;
}
