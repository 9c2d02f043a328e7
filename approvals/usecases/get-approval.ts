import type { StoredApproval } from '#contracts/card';
import type { Deps } from '../deps.ts';
import { presentApproval } from '../domain/present.ts';
import { notFound } from '../domain/refusals.ts';
import { readerOf } from '../domain/relationship.ts';
import { findApproval } from '../repository/approval.ts';

export async function getApproval(
  { db, readPrincipal }: Deps,
  { principal: signed, id }: { principal: string; id: string },
): Promise<StoredApproval> {
  const viewer = readPrincipal(signed);
  const approval = await findApproval(db, { orgId: viewer.orgId, approvalId: id });
  if (!approval) throw notFound();
  return presentApproval(approval, readerOf(approval, viewer));
}
