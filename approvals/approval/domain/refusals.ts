import { isOpenApproval } from '#contracts/approval-status';
import { AppError } from '#errors';
import { httpMethod } from '#contracts/vocabulary';
import type { Approval, ExecutionError } from './approval.ts';

const isHttpMethod = (action: string): boolean => httpMethod.safeParse(action).success;

export function approvalNotFoundError(): AppError {
  return new AppError('not_found', 'There is no such approval; check the id.');
}

export function expiredError({
  id,
  service,
  card: { action },
}: Pick<Approval, 'id' | 'service' | 'card'>): AppError {
  return new AppError(
    'expired',
    'The time of this approval has run out. If the call is still needed, make it again, with a new idempotency key if it had one.',
    {
      // A call by method and path has no action; its `action` is the HTTP method.
      details: { approval_id: id, service, ...(isHttpMethod(action) ? {} : { action }) },
    },
  );
}

/**
 * The error for a caller that tries to decide an approval that is decided already. It contains that
 * decision.
 */
export function alreadyResolvedError(approval: Approval): AppError {
  if (approval.status === 'expired' || isOpenApproval(approval)) return expiredError(approval);
  return new AppError(
    'already_resolved',
    `This approval is already ${approval.status}; nothing was changed.`,
    {
      details: {
        approval_id: approval.id,
        status: approval.status,
        resolution: approval.resolution,
        resolved_by: approval.resolvedBy,
        resolved_at: approval.resolvedAt?.toISOString() ?? null,
        reason: approval.reason,
        execution_status: approval.execution?.status ?? null,
      },
    },
  );
}

export function executionInProgressError(approvalId: string): AppError {
  return new AppError(
    'execution_in_progress',
    'The approved call is under way; ask again with the approval_id in a moment.',
    { details: { approval_id: approvalId, retry_after: 2 } },
  );
}

/**
 * Restores the error that a replay stored, so that the caller gets the error that the call itself
 * would have returned.
 */
export function restoreStoredError({ error, message, details }: ExecutionError): AppError {
  return new AppError(error as AppError['code'], message, {
    details: details as AppError['details'],
  });
}
