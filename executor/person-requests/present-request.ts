import type { ServiceRequest } from '#contracts/http/requests';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import type { PersonRequest } from './person-request-row.sql.ts';

export function presentRequest(
  { baseUrl }: { readonly baseUrl: string },
  request: PersonRequest,
): ServiceRequest {
  return {
    id: request.id,
    kind: request.kind,
    status: request.status,
    requester: request.requester,
    tier: request.tier,
    template: request.template,
    name: request.name,
    actions: request.actions,
    scopes: request.scopes,
    hosts: request.hosts,
    reason: request.reason,
    connection_id: request.connectionId,
    service_id: request.serviceId,
    service: request.serviceName && referenceOf({ tier: request.tier, name: request.serviceName }),
    also_asked_by: request.alsoAskedBy,
    created_at: request.createdAt.toISOString(),
    expires_at: request.expiresAt.toISOString(),
    decided_by: request.decidedBy,
    decline_reason: request.declineReason,
    url: `${baseUrl}/requests/${request.id}`,
  };
}
