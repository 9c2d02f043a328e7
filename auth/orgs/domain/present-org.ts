import type { Org as PublicOrg } from '#contracts/http/users';
import type { OrgProfile } from './org.ts';

/** The org in its public form (docs/reference/identities.md#org-settings). */
export function presentOrg(org: OrgProfile): PublicOrg {
  return {
    id: org.id,
    name: org.name,
    created_at: org.createdAt.toISOString(),
    approval_ttl_seconds: org.approvalTtlSeconds,
    auto_bubble_seconds: org.autoBubbleSeconds,
    remember_ttl_seconds: org.rememberTtlSeconds,
    self_remember_max_seconds: org.selfRememberMaxSeconds,
    durable_read_audit: org.durableReadAudit,
    session_idle_seconds: org.sessionIdleSeconds,
    oauth_client_allow_list:
      org.oauthClientAllowList === null ? null : [...org.oauthClientAllowList],
  };
}
