import type { StoredApproval } from '#contracts/card';
import type { Execution as PublicExecution, PendingApproval } from '#contracts/http/approvals';
import type { SuggestedTier } from '#contracts/permit';
import { riskLevels } from '#contracts/vocabulary';
import { isToRun, isTooLarge } from './approval.ts';
import type { Approval, Execution } from './approval.ts';
import type { Relationship } from './relationship.ts';

/** The approval as its viewer reads it (docs/reference/approvals.md#the-card). */
export function presentApproval(approval: Approval, relationship: Relationship): StoredApproval {
  return { ...presentCard(approval, relationship), proof: proofOf(approval) };
}

/** What of it is announced: everything but what the card is checked by. */
export function presentCard(
  approval: Approval,
  relationship: Relationship,
): Omit<StoredApproval, 'proof'> {
  const { card, execution } = approval;
  return {
    id: approval.id,
    status: approval.status,
    relationship,
    risk: riskLevels[approval.risk],
    permission_keys: [...card.permissionKeys],
    suggested_tiers: offeredTiers(approval),
    derived_keys: card.derivedKeys,
    expires_at: expiryOf(approval).toISOString(),
    ...(execution ? { execution: presentExecution(execution) } : {}),
    requester: card.requester,
    resolver_id: approval.resolverId,
    may_resolve: approval.chain.slice(0, -1),
    placement: card.placement,
    service: approval.service,
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

/** What a call that waits for a decision, or for its replay, is answered with. */
export function presentEnvelope(
  approval: Approval,
  { baseUrl, relationship }: { baseUrl: string; relationship: 'self' | 'downstream' },
): PendingApproval {
  const { card } = approval;
  return {
    status: 'pending_approval',
    approval_id: approval.id,
    approval_url: approvalUrl(baseUrl, approval.id),
    action_description: card.description,
    expires_at: expiryOf(approval).toISOString(),
    relationship,
    suggested_tiers: offeredTiers(approval),
    auto_call_on_approve: approval.autoCallOnApprove,
    risk: riskLevels[approval.risk],
    permission_keys: [...card.permissionKeys],
  };
}

function proofOf({ gapDigest, requestDigest, cardMac }: Approval): StoredApproval['proof'] {
  if (gapDigest === null || cardMac === null) return null;
  return { gapDigest, requestDigest, mac: cardMac };
}

/** Nobody remembers by a request that nobody has seen whole. */
function offeredTiers(approval: Approval): SuggestedTier[] {
  return isTooLarge(approval) ? [] : approval.card.suggestedTiers;
}

export function approvalUrl(baseUrl: string, approvalId: string): string {
  return `${baseUrl}/approvals/${approvalId}`;
}

/** The clock that runs: that of the decision, then that of the replay. */
function expiryOf(approval: Approval): Date {
  return isToRun(approval)
    ? (approval.execution?.expiresAt ?? approval.expiresAt)
    : approval.expiresAt;
}
