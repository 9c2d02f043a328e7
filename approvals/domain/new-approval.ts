import type { Call } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import { shownName } from '#templates';
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
    callDigest: gap.callDigest,
  };
}

export function cardFrom(
  gap: Gap,
  call: Call,
  shown: Pick<Card, 'description' | 'request' | 'disclosed' | 'context'>,
): Card {
  const { target, credential } = gap;
  const uncovered = new Set(gap.uncoveredKeys);
  return {
    requester: requesterOf(gap),
    placement: { ...gap.placement, name: shownName(gap.placement.name) },
    template: target.kind === 'raw' ? null : target.template.key,
    ...(target.kind === 'action' && target.runtime ? { runtime: target.runtime } : {}),
    action: target.kind === 'action' ? target.action : methodOf(call),
    permissionKeys: gap.uncoveredKeys,
    derivedKeys: gap.derivedKeys.filter((derived) => uncovered.has(derived.key)),
    suggestedTiers: gap.suggestedTiers,
    credential: { kind: credential.kind, id: credential.id, client_id: credential.clientId },
    ...shown,
  };
}

function requesterOf({ chain, identityId }: Gap): Card['requester'] {
  const requester = chain.at(-1);
  if (requester?.id !== identityId) throw new Error('a chain ends with its identity');
  const { id, kind, name } = requester;
  return { id, kind, name: shownName(name), path: chain.map((link) => shownName(link.name)) };
}

/** The nearest agent: its subtree shares a limit. */
export function subtreeOf({ chain, identityId }: Pick<Gap, 'chain' | 'identityId'>): string {
  return chain.findLast((link) => link.kind === 'agent')?.id ?? identityId;
}

function methodOf(call: Call): string {
  return call.kind === 'http' ? call.method : call.action;
}
