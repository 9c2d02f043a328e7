import type { z } from 'zod';

import type { Deadline } from '#bus';
import type { serviceDetail } from '#contracts/http/services';
import { newestVersionOf } from '../templates/catalog.ts';
import type { Deps } from '../deps.ts';
import { presentService } from './domain/present-service.ts';
import { presentActions } from '../templates/domain/present-template.ts';
import { findCredentialsOfServices } from './find-credentials.ts';
import { presentPseudoService } from './domain/pseudo-service.ts';
import { getServiceByName } from './get-service-by-name.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';

/**
 * Returns a connected service with the actions of its pinned version, or the service `http` or
 * `platform`.
 */
export async function getService(
  deps: Deps,
  { principal, name }: { principal: string; name: string },
  deadline: Deadline,
): Promise<z.infer<typeof serviceDetail>> {
  const { orgId, userId } = deps.readPrincipal(principal);
  const pseudoService = presentPseudoService(name);
  if (pseudoService !== undefined) return pseudoService;
  const service = await getServiceByName(deps.db, { orgId, userId, name });
  const [template, existing] = await Promise.all([
    getTemplateVersion(deps, { orgId, template: service.template }),
    findCredentialsOfServices(deps.executor, { orgId, userId, services: [service] }, deadline),
  ]);
  return {
    ...presentService(service, {
      template,
      existing,
      newest: newestVersionOf(deps.catalog, service),
    }),
    description: template.description,
    actions: presentActions(template),
  };
}
