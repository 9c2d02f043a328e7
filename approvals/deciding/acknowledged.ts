import { AppError } from '#errors';
import { isTooLarge } from '../domain/approval.ts';
import type { Approval } from '../domain/approval.ts';
import type { Decision } from '../domain/decision.ts';

/**
 * Refuses to allow a request of which nobody was shown more than an outline, unless the decider
 * says that this is known. It is allowed once, and never by the requester itself.
 */
export function assertAcknowledged(
  approval: Approval,
  {
    decision: { acknowledge, remember },
    isSelf,
  }: { decision: Decision & { kind: 'allow' }; isSelf: boolean },
): void {
  if (!isTooLarge(approval)) return;
  if (isSelf) {
    throw new AppError(
      'self_approval_disabled',
      'This request is too large to be shown whole; somebody above you has to decide it.',
    );
  }
  if (remember !== null) {
    throw new AppError(
      'remember_keys_not_offered',
      'This request is too large to be shown whole, and calls like it cannot be remembered; allow it once.',
      { details: { available: [] } },
    );
  }
  if (acknowledge === 'too_large') return;
  throw new AppError(
    'acknowledgement_required',
    'This request is too large to be shown whole. Look at its outline, and send acknowledge "too_large" to allow it.',
    { details: { acknowledge: 'too_large' } },
  );
}
