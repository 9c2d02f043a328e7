import type { ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import { referenceTo } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { hasHost } from '../domain/host-match.ts';
import { statusOf } from '../domain/own-template.ts';
import { recordOf } from '../domain/service.ts';
import { listServicesByHost } from '../repository/connected-service.ts';
import { listTemplates } from '../repository/template.ts';

const resultsMax = 200;

/**
 * Everything in reach that could be meant by a request to a host: deny rules on any of it hold
 * for the request, however it is made (decisions: The walk, 1).
 */
export async function findByHost(
  { db, catalog }: Pick<Deps, 'db' | 'catalog'>,
  { orgId, userId, host }: { orgId: string; userId: string; host: string },
): Promise<{ services: ServiceRecord[]; templates: TemplateReference[] }> {
  const services = await listServicesByHost(db, { orgId, userId, host, limit: resultsMax });
  // A user's own templates are no way for others to forbid anything: those of the org are.
  const own = await listTemplates(db, { orgId, userId, key: null, limit: resultsMax });
  const ofOrg = own.filter(
    ({ own: each }) => each.tier === 'org' && statusOf(each) === 'published',
  );
  const templates = [...ofOrg.map(({ outline }) => outline), ...catalog.list()];
  return {
    services: services.map(recordOf),
    templates: templates
      .filter((template) => hasHost(template, host))
      .slice(0, resultsMax)
      .map(referenceTo),
  };
}
