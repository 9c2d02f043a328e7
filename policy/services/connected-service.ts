import type { ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import { platformKey, platformService, platformTemplate } from '#contracts/platform';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { isServedAt, serversOf } from '#templates';
import type { Lookups, Owner } from '../deps.ts';

import { notGenuine } from './genuine-template.ts';

/** Finds a service that may be called, with the template version that the service is pinned to. */
export async function getConnectedService(
  lookups: Lookups,
  owner: Owner,
  name: string,
): Promise<{ service: ServiceRecord; template: CompiledTemplate }> {
  if (name === platformKey) return { service: platformService, template: platformTemplate };
  const service = await lookups.getService(owner, name);
  if (service.status === 'disabled') throw serviceDisabled(service.name);
  const template = await getOwnersTemplate(lookups, owner, service.template);
  const { name: serviceName, baseUrl } = service;
  // The address must come from the template or from an admin. Policy does not trust the registry to
  // say where calls go.
  const isAddressGenuine =
    serversOf(template).some((server) => isServedAt(server, baseUrl)) ||
    (await lookups.isKnownAddress(owner.orgId, baseUrl));
  if (!isAddressGenuine) throw addressNotGenuineError(serviceName, baseUrl);
  return { service, template };
}

/**
 * Finds the template of a service. A member's own template is used only for calls by that member
 * and the member's agents.
 */
export async function getOwnersTemplate(
  lookups: Lookups,
  { orgId, userId }: Owner,
  reference: TemplateReference,
): Promise<CompiledTemplate> {
  const { tier, ownerId, key } = reference;
  if (tier === 'user' && ownerId !== userId) throw notGenuine(key);
  return lookups.getTemplate(orgId, reference);
}

export function addressNotGenuineError(service: string, baseUrl: string): AppError {
  return new AppError(
    'unavailable',
    `The service ${service} is not where its template or an admin put it, so nothing was sent. Tell an admin.`,
    { details: { component: 'registry', reason: 'address_not_genuine', base_url: baseUrl } },
  );
}

/**
 * Callers get the same error for a disabled service as for a missing one
 * (docs/reference/templates.md#services).
 */
export function serviceDisabled(name: string): AppError {
  return new AppError(
    'unknown_service',
    `The service ${name} is disabled. Use another one, or ask its owner to enable it.`,
  );
}
