import type { Deadline } from '#bus';
import type { ExplainedApproval } from '#contracts/http/approvals';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { findApproval, findGap } from './approval.sql.ts';
import { approvalNotFoundError } from './domain/refusals.ts';
import { readerRelationshipOf } from './domain/relationship.ts';

/**
 * Explains what the current rules say about the approval's call, for everyone who may read the
 * approval. What policy needs to know about the call is only in the permission gap, which is erased
 * when the call ends (docs/reference/approvals.md#why-it-is-asked).
 */
export async function explainApproval(
  { db, policy, readPrincipal }: Deps,
  { principal: signed, id }: { principal: string; id: string },
  deadline: Deadline,
): Promise<ExplainedApproval> {
  const viewer = readPrincipal(signed);
  const { orgId } = viewer;
  const key = { orgId, approvalId: id };
  const approval = await findApproval(db, key);
  if (!approval) throw approvalNotFoundError();
  // Throws for viewers who may not read the approval.
  readerRelationshipOf(approval, viewer);
  const gap = await findGap(db, key);
  if (gap !== undefined) return policy.explainGap({ orgId, gap }, deadline);
  throw new AppError(
    'already_resolved',
    'This call has ended and was erased, so what holds for it now is not known. Make a dry run of a new one (POST /v1/actions/validate).',
    { details: { approval_id: id, status: approval.status } },
  );
}
