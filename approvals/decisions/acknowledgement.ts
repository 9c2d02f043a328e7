import { AppError } from '#errors';
import { isRequestTooLarge } from '../approval/domain/approval.ts';
import type { Approval } from '../approval/domain/approval.ts';
import type { Decision } from './domain/decision.ts';

/**
 * Refuses to allow a request of which people see only an outline, unless the decider acknowledges
 * this. Such a decision allows one call only, and the requester cannot make it for itself.
 */
export function assertAcknowledged(
  approval: Approval,
  { decision: { acknowledge, remember }, isSelf }: { decision: Decision; isSelf: boolean },
): void {
  if (!isRequestTooLarge(approval)) return;
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
