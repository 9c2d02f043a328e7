import type { Event, EventType } from '#contracts/events';
import type { AuditEntry } from '#contracts/audit';
import type { Principal } from '#contracts/vocabulary';
import { auditOf } from './audit-entry.ts';
import { nameInKeys } from './service.ts';
import type { Service } from './service.ts';

interface ServiceEvent {
  readonly type: EventType;
  readonly orgId: string;
  readonly audience: string[];
  readonly data: Event['data'];
  readonly audit: AuditEntry;
}

export function serviceCreated(caller: Principal, service: Service): ServiceEvent {
  const { key, version } = service.template;
  const text = `Connected ${nameInKeys(service)} from template ${key} version ${version} at ${service.baseUrl}`;
  return eventOf('service.created', { caller, service, text });
}

/** `changes` are clauses such as "reads need a rule". */
export function serviceChanged(
  caller: Principal | null,
  service: Service,
  changes: readonly string[],
): ServiceEvent {
  const text = `Changed ${nameInKeys(service)}: ${changes.join('; ')}`;
  return eventOf('service.changed', { caller, service, text });
}

export function serviceDeleted(caller: Principal, service: Service): ServiceEvent {
  const text = `Disconnected ${nameInKeys(service)}`;
  return eventOf('service.deleted', { caller, service, text });
}

function eventOf(
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
