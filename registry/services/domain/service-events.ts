import type { Event, EventType } from '#contracts/events';
import type { AuditEntry } from '#contracts/audit';
import type { Principal } from '#contracts/vocabulary';
import { auditOf, identityOf } from '../../templates/domain/audit-entry.ts';
import { nameInKeys } from './service.ts';
import type { Service } from './service.ts';

interface ServiceEvent {
  readonly type: EventType;
  readonly orgId: string;
  readonly audience: string[];
  readonly data: Event['data'];
  readonly audit: AuditEntry;
}

/**
 * The event of a new service. If the service answers a request, the event contains the id of the
 * request, so that the executor can close the request.
 */
export function serviceCreatedEvent(
  caller: Principal,
  service: Service,
  requestId: string | null = null,
): ServiceEvent {
  const { key, version } = service.template;
  const text = `Connected ${nameInKeys(service)} from template ${key} version ${version} at ${service.baseUrl}`;
  const created = buildEvent('service.created', { caller, service, text });
  if (requestId === null) return created;
  const answeredRequest = { request_id: requestId, connected_by: identityOf(caller) };
  return { ...created, data: { ...created.data, ...answeredRequest } };
}

/**
 * The event of a change of a service. Each of `changes` is a clause such as "reads need a rule".
 */
export function serviceChangedEvent(
  caller: Principal | null,
  service: Service,
  changes: readonly string[],
): ServiceEvent {
  const text = `Changed ${nameInKeys(service)}: ${changes.join('; ')}`;
  return buildEvent('service.changed', { caller, service, text });
}

export function serviceDeletedEvent(caller: Principal, service: Service): ServiceEvent {
  const text = `Disconnected ${nameInKeys(service)}`;
  return buildEvent('service.deleted', { caller, service, text });
}

function buildEvent(
  type: EventType,
  { caller, service, text }: { caller: Principal | null; service: Service; text: string },
): ServiceEvent {
  return {
    type,
    orgId: service.orgId,
    audience: service.ownerId === null ? [] : [service.ownerId],
    data: {
      service_id: service.id,
      name: service.name,
      tier: service.tier,
      owner_id: service.ownerId,
      template: service.template.key,
    },
    audit: auditOf(caller, { service: nameInKeys(service), template: service.template.key }, text),
  };
}
