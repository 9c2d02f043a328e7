import type { z } from 'zod';

import type { approvals } from '#contracts/bus/approvals';
import { deniedErrorCode } from './approval.ts';
import type { Approval, Execution } from './approval.ts';
import { presentEnvelope } from './present.ts';
import { expiredError, restoreStoredError } from './refusals.ts';

/** The answer to a call that policy suspends. `resume` returns the same type. */
export type CallState = z.infer<typeof approvals.endpoints.resume.response>;

/**
 * The answer to a call, given the state of its approval. While the approval is open or its replay
 * has not ended, it is the pending answer. Afterwards it is the result. Throws the error that the
 * call itself would have ended with.
 */
export function callStateOf(
  approval: Approval,
  viewer: { baseUrl: string; relationship: 'self' | 'downstream' },
): CallState {
  switch (approval.status) {
    case 'pending':
    case 'bubbled':
      return { kind: 'pending', envelope: presentEnvelope(approval, viewer) };
    case 'denied':
      return deniedCallStateOf(
        approval,
        approval.reason ?? `Denied by ${approval.resolvedBy?.name ?? 'the approver'}.`,
      );
    case 'expired':
      throw expiredError(approval);
    case 'allowed':
      return callStateOfExecution(approval, approval.execution as Execution, viewer);
  }
}

function callStateOfExecution(
  approval: Approval,
  execution: Execution,
  viewer: { baseUrl: string; relationship: 'self' | 'downstream' },
): CallState {
  switch (execution.status) {
    case 'pending':
    case 'executing':
      return { kind: 'pending', envelope: presentEnvelope(approval, viewer) };
    case 'executed':
      return {
        kind: 'called',
        result: execution.result as NonNullable<Execution['result']>,
        description: approval.card.description,
        auditId: execution.auditId ?? execution.id,
      };
    case 'failed': {
      const error = execution.error as NonNullable<Execution['error']>;
      if (error.error === deniedErrorCode) return deniedCallStateOf(approval, error.message);
      throw restoreStoredError(error);
    }
    case 'cancelled':
      return deniedCallStateOf(approval, 'cancelled');
    case 'expired':
      throw expiredError(approval);
  }
}

function deniedCallStateOf(approval: Approval, reason: string): CallState {
  return { kind: 'denied', reason, approvalId: approval.id };
}
