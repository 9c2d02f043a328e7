import type { AuditEntry } from '#contracts/audit';
import type { Call, CallResult } from '#contracts/call';
import type { Permit } from '#contracts/permit';
import { AppError } from '#errors';
import type { Sending } from './send.ts';

/** A call that is ready to leave: permitted, built, with its credentials read. */
export interface Run extends Sending {
  readonly permit: Permit;
  readonly call: Call;
  readonly entry: AuditEntry;
}

export type Executed =
  | { kind: 'called'; result: CallResult; auditId: string; replayed: boolean }
  | { kind: 'suspended'; approvalId: string };

/** Whom a call concerns: its chain, the user first. */
export function audienceOf({ chain }: Permit): string[] {
  return chain.map(({ id }) => id);
}

/** The same failure with the id of the audit row that tells of it: whoever sees the id need not record it again. */
export function withAuditId(error: AppError, auditId: string): AppError {
  return new AppError(error.code, error.message, {
    details: { ...error.details, audit_id: auditId },
    cause: error.cause,
  });
}

export function outcomeUnknown(auditId: string, cause?: unknown): AppError {
  return new AppError(
    'outcome_unknown',
    'The call may have reached the upstream, and its answer was lost. Do not retry it; look at the upstream first.',
    { details: { audit_id: auditId }, cause },
  );
}
