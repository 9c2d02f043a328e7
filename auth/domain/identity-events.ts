import type { CallContext, Principal } from '#contracts/vocabulary';
import { auditOf, nameOf } from './audit-entry.ts';
import type { Identity } from './identity.ts';

/** Who changed it, as every event of a change needs it. */
export interface Change {
  readonly caller: Principal;
  readonly context: CallContext;
}

export function identityCreated({ caller, context }: Change, identity: Identity) {
  return {
    type: 'identity.created',
    orgId: identity.orgId,
    audience: identity.lineage,
    data: {
      identity_id: identity.id,
      kind: identity.kind,
      name: identity.name,
      parent_id: identity.parentId,
      owner_id: identity.ownerId,
    },
    audit: auditOf(
      caller,
      context,
      `${nameOf(caller)} created the ${identity.kind} ${identity.path.join(' / ')}.`,
    ),
  } as const;
}

/** `revokedIds` names everything that ended with it: caches and open approvals go by that. */
export function identityRevoked(
  { caller, context }: Change,
  { identity, revokedIds, why }: { identity: Identity; revokedIds: string[]; why: string },
) {
  return {
    type: 'identity.revoked',
    orgId: identity.orgId,
    audience: identity.lineage,
    data: {
      identity_id: identity.id,
      kind: identity.kind,
      name: identity.name,
      revoked_ids: revokedIds,
    },
    audit: auditOf(caller, context, why),
  } as const;
}
