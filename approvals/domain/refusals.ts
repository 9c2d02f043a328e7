import { AppError } from '#errors';
import type { Approval, ExecutionError } from './approval.ts';
import { isOpen } from './approval.ts';

export function notFound(): AppError {
  return new AppError('not_found', 'There is no such approval; check the id.');
}

export function expired(): AppError {
  return new AppError('expired', 'The time of this approval has run out; make the call again.');
}

/** What the loser of a race, or whoever comes late, is told: the decision that won. */
export function alreadyResolved(approval: Approval): AppError {
  if (approval.status === 'expired' || isOpen(approval)) return expired();
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

export function inProgress(approvalId: string): AppError {
  return new AppError(
    'execution_in_progress',
    'The approved call is under way; ask again with the approval_id in a moment.',
    { details: { approval_id: approvalId, retry_after: 2 } },
  );
}

/** A stored failure as the call itself would have answered it. The code is one that we stored. */
export function storedError({ error, message, details }: ExecutionError): AppError {
  return new AppError(error as AppError['code'], message, {
    details: details as AppError['details'],
  });
}
