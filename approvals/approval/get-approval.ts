import type { StoredApproval } from '#contracts/card';
import type { Deps } from '../deps.ts';
import { findApproval } from './approval.sql.ts';
import { presentApproval } from './domain/present.ts';
import { approvalNotFoundError } from './domain/refusals.ts';
import { readerRelationshipOf } from './domain/relationship.ts';

export async function getApproval(
  { db, readPrincipal }: Deps,
  { principal: signed, id }: { principal: string; id: string },
): Promise<StoredApproval> {
  const viewer = readPrincipal(signed);
  const approval = await findApproval(db, { orgId: viewer.orgId, approvalId: id });
  if (!approval) throw approvalNotFoundError();
  return presentApproval(approval, readerRelationshipOf(approval, viewer));
}
