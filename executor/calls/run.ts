import type { AuditEntry } from '#contracts/audit';
import type { Call, CallResult } from '#contracts/call';
import type { Permit } from '#contracts/permit';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { isNonRead } from '../sending/domain/retry.ts';
import type { Sending } from '../sending/sending.ts';

/** A call that is ready to be sent: permitted, built, and with its credentials read. */
export interface Run extends Sending {
  readonly permit: Permit;
  readonly call: Call;
  readonly entry: AuditEntry;
}

export type RunOutcome =
  | { kind: 'called'; result: CallResult; auditId: string; replayed: boolean }
  | { kind: 'suspended'; approvalId: string };

/**
 * Takes the space for the audit records of a call from its caller's share: two records for a
 * non-read (intent and outcome), one for a read. Returns whether the call is a non-read.
 */
export function takeAuditShare(
  { auditShare }: Pick<Deps, 'auditShare'>,
  { permit, entry, prepared }: Pick<Run, 'permit' | 'entry' | 'prepared'>,
): { isWrite: boolean } {
  const isWrite = isNonRead(prepared.request.method, permit.nonRead);
  auditShare.take(permit, entry, isWrite ? 2 : 1);
  return { isWrite };
}

/**
 * The identities that may see the event of a call: the caller and its ancestors, the user first.
 */
export function audienceOf({ chain }: Permit): string[] {
  return chain.map(({ id }) => id);
}

/**
 * Adds the id of the audit record to an error. The id tells other components that the failure is
 * recorded already.
 */
export function withAuditId(error: AppError, auditId: string): AppError {
  return new AppError(error.code, error.message, {
    details: { ...error.details, audit_id: auditId },
    cause: error.cause,
  });
}

export function outcomeUnknownError(auditId: string, cause?: unknown): AppError {
  return new AppError(
    'outcome_unknown',
    'The call may have reached the upstream, and its answer was lost. Do not retry it; look at the upstream first.',
    { details: { audit_id: auditId }, cause },
  );
}
