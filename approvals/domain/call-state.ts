import type { z } from 'zod';

import type { approvals } from '#contracts/bus/approvals';
import type { Approval, Execution } from './approval.ts';
import { deniedError } from './outcome.ts';
import { presentEnvelope } from './present.ts';
import { expired, storedError } from './refusals.ts';

/** What a call with a gap, or a resume, is answered with. */
export type CallState = z.infer<typeof approvals.endpoints.resume.response>;

/**
 * The answer that an approval's present state is to a call: an envelope while it is open or its
 * replay is to come, then what the replay came to. Throws where the call itself would have failed.
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
      return denial(
        approval,
        approval.reason ?? `Denied by ${approval.resolvedBy?.name ?? 'the approver'}.`,
      );
    case 'expired':
      throw expired();
    case 'allowed':
      return executionState(approval, approval.execution as Execution, viewer);
  }
}

function executionState(
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
      if (error.error === deniedError) return denial(approval, error.message);
      throw storedError(error);
    }
    case 'cancelled':
      return denial(approval, 'cancelled');
    case 'expired':
      throw expired();
  }
}

function denial(approval: Approval, reason: string): CallState {
  return { kind: 'denied', reason, approvalId: approval.id };
}
