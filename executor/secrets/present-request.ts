import type { SecretRequest } from '#contracts/http/secret-requests';
import type { SecretRequestRow } from '../repository/secret-request.ts';

export function presentSecretRequest(request: SecretRequestRow): SecretRequest {
  return {
    id: request.id,
    name: request.name,
    tier: request.tier,
    reason: request.reason,
    allowed_hosts: request.allowedHosts,
    requested_by: request.requestedBy,
    created_at: request.createdAt.toISOString(),
    expires_at: request.expiresAt.toISOString(),
  };
}
