import type { ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import { platformKey, platformService, platformTemplate } from '#contracts/platform';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
import { isServedAt } from '../domain/service-address.ts';
import { notGenuine } from '../lookups/genuine-template.ts';
import type { Lookups, Owner } from '../lookups/lookups.ts';

/** A service that may be called, with the template version it is pinned to. */
export async function getConnectedService(
  lookups: Lookups,
  owner: Owner,
  name: string,
): Promise<{ service: ServiceRecord; template: CompiledTemplate }> {
  if (name === platformKey) return { service: platformService, template: platformTemplate };
  const service = await lookups.getService(owner, name);
  if (service.status === 'disabled') throw serviceDisabled(service.name);
  const template = await getOwnersTemplate(lookups, owner, service.template);
  const { name: called, baseUrl } = service;
  // What an admin gave in place of the template's own, the registry does not make up either.
  const isThere =
    isServedAt(template.server, baseUrl) || (await lookups.isKnownAddress(owner.orgId, baseUrl));
  if (!isThere) throw notAtAddress(called, baseUrl);
  return { service, template };
}

/** What one person wrote decides about that person's calls alone. */
export async function getOwnersTemplate(
  lookups: Lookups,
  { orgId, userId }: Owner,
  reference: TemplateReference,
): Promise<CompiledTemplate> {
  const { tier, ownerId, key } = reference;
  if (tier === 'user' && ownerId !== userId) throw notGenuine(key);
  return lookups.getTemplate(orgId, reference);
}

export function notAtAddress(service: string, baseUrl: string): AppError {
  return new AppError(
    'unavailable',
    `The service ${service} is not where its template or an admin put it, so nothing was sent. Tell an admin.`,
    { details: { component: 'registry', reason: 'address_not_genuine', base_url: baseUrl } },
  );
}

/** To callers a disabled service is as good as absent (docs/reference/templates.md#services). */
export function serviceDisabled(name: string): AppError {
  return new AppError(
    'unknown_service',
    `The service ${name} is disabled. Use another one, or ask its owner to enable it.`,
  );
}
