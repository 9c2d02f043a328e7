import type { StoredApproval } from '#contracts/card';
import type { Execution as PublicExecution, PendingApproval } from '#contracts/http/approvals';
import type { SuggestedTier } from '#contracts/permit';
import { riskLevels } from '#contracts/vocabulary';
import { isAllowedAndNotEnded, isRequestTooLarge } from './approval.ts';
import type { Approval, Execution } from './approval.ts';
import type { Relationship } from './relationship.ts';

/** The approval as its viewer gets it (docs/reference/approvals.md#the-card). */
export function presentApproval(approval: Approval, relationship: Relationship): StoredApproval {
  const { serviceTitle } = approval.card;
  return {
    ...presentCard(approval, relationship),
    proof: approvalProofOf(approval),
    ...(serviceTitle === undefined ? {} : { title_mac: serviceTitle.mac }),
  };
}

/** The approval as events contain it: without the MACs by which the gateway verifies the card. */
export function presentCard(
  approval: Approval,
  relationship: Relationship,
): Omit<StoredApproval, 'proof' | 'title_mac'> {
  const { card, execution } = approval;
  return {
    id: approval.id,
    status: approval.status,
    relationship,
    risk: riskLevels[approval.risk],
    permission_keys: [...card.permissionKeys],
    suggested_tiers: offeredTiersOf(approval),
    derived_keys: card.derivedKeys,
    expires_at: expiryOf(approval).toISOString(),
    ...(execution ? { execution: presentExecution(execution) } : {}),
    requester: card.requester,
    resolver_id: approval.resolverId,
    may_resolve: approval.chain.slice(0, -1),
    placement: card.placement,
    service: approval.service,
    ...(card.serviceTitle === undefined ? {} : { service_title: card.serviceTitle.title }),
    template: card.template,
    action: card.action,
    action_description: card.description,
    request: card.request,
    disclosed: [...card.disclosed],
    reason: approval.reason,
    created_at: approval.createdAt.toISOString(),
    resolved_at: approval.resolvedAt?.toISOString() ?? null,
    resolved_by: approval.resolvedBy,
    resolution: approval.resolution,
    auto_call_on_approve: approval.autoCallOnApprove,
  };
}

export function presentExecution(execution: Execution): PublicExecution {
  const { httpStatusCode, result, error } = execution;
  return {
    id: execution.id,
    status: execution.status,
    runtime: execution.runtime,
    triggered_by: execution.triggeredBy,
    ...(httpStatusCode === null ? {} : { http_status_code: httpStatusCode }),
    ...(result === null ? {} : { result }),
    ...(error === null ? {} : { error: { error: error.error, message: error.message } }),
    created_at: execution.createdAt.toISOString(),
    started_at: execution.startedAt?.toISOString() ?? null,
    finished_at: execution.finishedAt?.toISOString() ?? null,
    expires_at: execution.expiresAt.toISOString(),
  };
}

/** The pending answer to a call, while the decision or the replay has not ended. */
export function presentEnvelope(
  approval: Approval,
  { baseUrl, relationship }: { baseUrl: string; relationship: 'self' | 'downstream' },
): PendingApproval {
  const { card } = approval;
  return {
    status: 'pending_approval',
    approval_id: approval.id,
    approval_url: approvalUrlOf(baseUrl, approval.id),
    action_description: card.description,
    expires_at: expiryOf(approval).toISOString(),
    relationship,
    suggested_tiers: offeredTiersOf(approval),
    auto_call_on_approve: approval.autoCallOnApprove,
    risk: riskLevels[approval.risk],
    permission_keys: [...card.permissionKeys],
  };
}

function approvalProofOf({ gapDigest, requestDigest, cardMac }: Approval): StoredApproval['proof'] {
  if (gapDigest === null || cardMac === null) return null;
  return { gapDigest, requestDigest, mac: cardMac };
}

/**
 * The suggested rules (tiers) that a person may choose. For a request that is too large to be shown
 * whole there are none.
 */
function offeredTiersOf(approval: Approval): SuggestedTier[] {
  return isRequestTooLarge(approval) ? [] : approval.card.suggestedTiers;
}

export function approvalUrlOf(baseUrl: string, approvalId: string): string {
  return `${baseUrl}/approvals/${approvalId}`;
}

/**
 * When the approval expires. For an allowed approval this is the end of its replay period, for an
 * undecided one the end of its decision period.
 */
function expiryOf(approval: Approval): Date {
  return isAllowedAndNotEnded(approval)
    ? (approval.execution?.expiresAt ?? approval.expiresAt)
    : approval.expiresAt;
}
