import type { CallContext, JsonValue, Principal } from '#contracts/vocabulary';
import { auditOf, nameOf } from './audit-entry.ts';
import type { Identity } from './identity.ts';
import type { Binding } from './oauth-connection.ts';

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

type ChangedField = keyof typeof changeable;
const changeable = {
  name: ({ name }: Identity) => name,
  role: ({ role }: Identity) => role,
  status: ({ status }: Identity) => status,
  auto_call_on_approve: ({ autoCallOnApprove }: Identity) => autoCallOnApprove,
  inherit_permissions: ({ inheritPermissions }: Identity) => inheritPermissions,
  expires_at: ({ expiresAt }: Identity) => expiresAt?.toISOString() ?? null,
};

/** Each changed field as it was and as it is. */
function changesBetween(before: Identity, after: Identity) {
  return (Object.keys(changeable) as ChangedField[])
    .map((field) => [field, changeable[field](before), changeable[field](after)] as const)
    .filter(([, was, is]) => was !== is);
}

export function isChanged(before: Identity, after: Identity): boolean {
  return changesBetween(before, after).length > 0;
}

export function identityChanged(
  { caller, context }: Change,
  {
    before,
    after,
    verb,
  }: { before: Identity; after: Identity; verb: 'archived' | 'restored' | 'changed' },
) {
  const changes = changesBetween(before, after);
  const told = changes.map(([field, was, is]) => `${field} ${was ?? 'none'} → ${is ?? 'none'}`);
  return {
    type: 'identity.changed',
    orgId: after.orgId,
    audience: after.lineage,
    data: {
      identity_id: after.id,
      kind: after.kind,
      name: after.name,
      changes: Object.fromEntries(
        changes.map(([field, was, is]): [string, JsonValue] => [field, { before: was, after: is }]),
      ),
    },
    audit: auditOf(
      caller,
      context,
      `${nameOf(caller)} ${verb} the ${after.kind} ${before.path.join(' / ')} (${told.join(', ') || 'again'}).`,
    ),
  } as const;
}

/** Gateways tell the client that its tools changed, and policy forgets whose switch is on. */
export function connectionChanged(
  { caller, context }: Change,
  { binding, sentence }: { binding: Binding; sentence: string },
) {
  return {
    type: 'mcp_connection.changed',
    orgId: binding.orgId,
    audience: [binding.userId, binding.agentId],
    data: {
      agent_id: binding.agentId,
      client_id: binding.clientId,
      user_id: binding.userId,
      self_approve_enabled: binding.selfApproveEnabled,
    },
    audit: auditOf(
      caller,
      context,
      `${nameOf(caller)} ${sentence} (client ${binding.clientId}, agent ${binding.agentId}).`,
    ),
  } as const;
}
