import type { JsonValue } from '#contracts/vocabulary';
import { auditEntryOf, callerNameOf } from '../../callers/domain/audit-entry.ts';
import type { ChangeOrigin } from '../../callers/domain/change-event.ts';
import type { Identity } from './identity.ts';

export function identityCreatedEvent({ caller, context }: ChangeOrigin, identity: Identity) {
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
    audit: auditEntryOf(
      caller,
      context,
      `${callerNameOf(caller)} created the ${identity.kind} ${identity.path.join(' / ')}.`,
    ),
  } as const;
}

/**
 * `revokedIds` lists every identity that was revoked, because caches and open approvals depend on
 * them.
 */
export function identityRevokedEvent(
  { caller, context }: ChangeOrigin,
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
    audit: auditEntryOf(caller, context, why),
  } as const;
}

type ChangedField = keyof typeof changeableFields;
const changeableFields = {
  name: ({ name }: Identity) => name,
  // An agent shows the display name of its user. Changing the agent does not change this name.
  display_name: ({ displayName }: Identity) => displayName,
  role: ({ role }: Identity) => role,
  status: ({ status }: Identity) => status,
  auto_call_on_approve: ({ autoCallOnApprove }: Identity) => autoCallOnApprove,
  inherit_permissions: ({ inheritPermissions }: Identity) => inheritPermissions,
  expires_at: ({ expiresAt }: Identity) => expiresAt?.toISOString() ?? null,
};

/** Lists each changed field with its old and its new value. */
function changesBetween(before: Identity, after: Identity) {
  return (Object.keys(changeableFields) as ChangedField[])
    .map(
      (field) => [field, changeableFields[field](before), changeableFields[field](after)] as const,
    )
    .filter(([, was, is]) => was !== is);
}

export function isChanged(before: Identity, after: Identity): boolean {
  return changesBetween(before, after).length > 0;
}

export function identityChangedEvent(
  { caller, context }: ChangeOrigin,
  {
    before,
    after,
    verb,
  }: { before: Identity; after: Identity; verb: 'archived' | 'restored' | 'changed' },
) {
  const changes = changesBetween(before, after);
  const descriptions = changes.map(
    ([field, was, is]) => `${field} ${was ?? 'none'} → ${is ?? 'none'}`,
  );
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
    audit: auditEntryOf(
      caller,
      context,
      `${callerNameOf(caller)} ${verb} the ${after.kind} ${before.path.join(' / ')} (${descriptions.join(', ') || 'again'}).`,
    ),
  } as const;
}
