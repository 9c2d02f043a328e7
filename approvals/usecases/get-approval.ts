import type { Handlers } from '#bus';
import type { approvals } from '#contracts/bus/approvals';
import type { Deps } from '../deps.ts';
import { presentApproval } from '../domain/present.ts';
import { notFound } from '../domain/refusals.ts';
import { readerOf } from '../domain/relationship.ts';
import { findApproval } from '../repository/approval.ts';

type Read = Awaited<ReturnType<Handlers<typeof approvals>['get']>>;

export async function getApproval(
  { db, readPrincipal }: Deps,
  { principal: signed, id }: { principal: string; id: string },
): Promise<Read> {
  const viewer = readPrincipal(signed);
  const approval = await findApproval(db, { orgId: viewer.orgId, approvalId: id });
  if (!approval) throw notFound();
  const { gapDigest, requestDigest } = approval;
  return {
    ...presentApproval(approval, readerOf(approval, viewer)),
    proof: gapDigest === null ? null : { gapDigest, requestDigest },
  };
}
