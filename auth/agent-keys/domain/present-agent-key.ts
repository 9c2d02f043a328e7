import type { PublicAgentKey } from '#contracts/http/identities';
import type { AgentKey } from './agent-key.ts';

export function presentAgentKey(key: AgentKey): PublicAgentKey {
  return {
    id: key.id,
    identity_id: key.identityId,
    name: key.name,
    hint: key.hint,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}
