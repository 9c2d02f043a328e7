import type { ServiceRecord } from '#contracts/bus/registry';
import { platformKey, platformService, platformTemplate } from '#contracts/platform';
import type { CompiledTemplate } from '#contracts/template';
import { AppError } from '#errors';
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
  const { tier, ownerId, key } = service.template;
  // What one person wrote decides about that person's calls alone.
  if (tier === 'user' && ownerId !== owner.userId) throw notGenuine(key);
  const template = await lookups.getTemplate(owner.orgId, service.template);
  return { service, template };
}

/** Disabled services are as good as absent to callers (decisions: Templates and services). */
export function serviceDisabled(name: string): AppError {
  return new AppError(
    'unknown_service',
    `The service ${name} is disabled. Use another one, or ask its owner to enable it.`,
  );
}
