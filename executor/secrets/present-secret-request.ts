import type { SecretRequest } from '#contracts/http/secret-requests';
import type { RefusedSecret } from './refused-secret.ts';
import type { SecretRequestRow } from './secret-request.sql.ts';

/**
 * `replaced` is the refused secret of this name. Its hosts are shown instead of the hosts that the
 * requester suggests, because the new value may be sent only to the hosts of the old one.
 */
export function presentSecretRequest(
  request: SecretRequestRow,
  replaced: RefusedSecret | undefined,
): SecretRequest {
  return {
    id: request.id,
    name: request.name,
    tier: request.tier,
    reason: request.reason,
    allowed_hosts: replaced?.allowedHosts ?? request.allowedHosts,
    ...(request.parts === null ? {} : { parts: request.parts }),
    ...(replaced === undefined ? {} : { refused_at: replaced.refusedAt.toISOString() }),
    requested_by: request.requestedBy,
    created_at: request.createdAt.toISOString(),
    expires_at: request.expiresAt.toISOString(),
  };
}
