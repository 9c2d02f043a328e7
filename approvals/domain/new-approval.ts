import type { Call } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import { cardFactsOf } from '#templates';
import type { Approval, Card } from './approval.ts';

type Frozen = Pick<
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

/** What an approval takes from policy's gap, unchanged for its whole life. */
export function frozenFrom(gap: Gap): Frozen {
  const { target } = gap;
  return {
    requesterId: gap.identityId,
    userId: gap.userId,
    subtreeId: subtreeOf(gap),
    chain: gap.chain.map((link) => link.id),
    ladder: gap.ladder,
    placementId: gap.placement.id,
    service: target.kind === 'raw' ? 'http' : target.service,
    serviceId: target.kind === 'raw' ? null : target.serviceId,
    // A remembered rule holds for this credential only; one that the call brings none is for none.
    credentialId: gap.injections[0]?.credentialId ?? null,
    risk: gap.risk,
    nonRead: gap.nonRead,
    autoCallOnApprove: gap.autoCallOnApprove,
    createdAt: new Date(gap.issuedAt),
    callDigest: gap.callDigest,
  };
}

export function cardFrom(
  gap: Gap,
  call: Call,
  shown: Pick<Card, 'description' | 'request' | 'disclosed' | 'context'>,
): Card {
  const { target, credential } = gap;
  const facts = cardFactsOf(gap, call);
  return {
    requester: facts.requester,
    placement: facts.placement,
    template: facts.template,
    ...(target.kind === 'action' && target.runtime ? { runtime: target.runtime } : {}),
    action: facts.action,
    permissionKeys: facts.permission_keys,
    derivedKeys: facts.derived_keys,
    suggestedTiers: facts.suggested_tiers,
    credential: { kind: credential.kind, id: credential.id, client_id: credential.clientId },
    ...shown,
  };
}

/** The nearest agent: its subtree shares a limit. */
export function subtreeOf({ chain, identityId }: Pick<Gap, 'chain' | 'identityId'>): string {
  return chain.findLast((link) => link.kind === 'agent')?.id ?? identityId;
}
