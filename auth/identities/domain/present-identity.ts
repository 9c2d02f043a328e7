import type { Identity as PublicIdentity } from '#contracts/http/identities';
import type { Identity } from './identity.ts';

/** The identity in its public form (docs/reference/identities.md#kinds). */
export function presentIdentity(identity: Identity): PublicIdentity {
  return {
    id: identity.id,
    org_id: identity.orgId,
    kind: identity.kind,
    name: identity.name,
    parent_id: identity.parentId,
    owner_id: identity.ownerId,
    depth: identity.depth,
    path: [...identity.path],
    ...(identity.displayName === null ? {} : { display_name: identity.displayName }),
    inherit_permissions: identity.inheritPermissions,
    auto_call_on_approve: identity.autoCallOnApprove,
    status: identity.status,
    created_at: identity.createdAt.toISOString(),
    last_active_at: identity.lastActiveAt?.toISOString() ?? null,
    expires_at: identity.expiresAt?.toISOString() ?? null,
    ...(identity.role === null ? {} : { role: identity.role, email: identity.email }),
  };
}
