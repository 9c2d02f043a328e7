import type { Secret } from '#contracts/http/secrets';
import type { StoredSecret } from './secret.sql.ts';

export function presentSecret(secret: StoredSecret): Secret {
  return {
    id: secret.id,
    name: secret.name,
    tier: secret.tier,
    owner_id: secret.ownerId,
    description: secret.description,
    current_version: secret.currentVersion,
    allowed_hosts: secret.allowedHosts,
    created_at: secret.createdAt.toISOString(),
    updated_at: secret.updatedAt.toISOString(),
    created_by: secret.createdBy,
    refused_at: secret.refusedAt?.toISOString() ?? null,
  };
}
