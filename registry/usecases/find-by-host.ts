import type { ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import { referenceTo } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import { hasHost } from '../domain/host-match.ts';
import { statusOf } from '../domain/own-template.ts';
import { recordOf } from '../domain/service.ts';
import { listAllServices, listServicesByHost } from '../repository/connected-service.ts';
import { listTemplates } from '../repository/template.ts';

const resultsMax = 200;

/**
 * Everything in reach that could be meant by a request to a host: deny rules on any of it hold
 * for the request, however it is made (decisions: The walk, 1).
 */
export async function findByHost(
  { db, catalog }: Pick<Deps, 'db' | 'catalog'>,
  { orgId, userId, host }: { orgId: string; userId: string; host: string },
): Promise<{ services: ServiceRecord[]; templates: TemplateReference[]; isCut: boolean }> {
  const limit = resultsMax + 1;
  const [services, own] = await Promise.all([
    listServicesByHost(db, { orgId, userId, host, limit }),
    listTemplates(db, { orgId, userId, key: null, limit }),
  ]);
  // A user's own templates are no way for others to forbid anything: those of the org are.
  const ofOrg = own.filter(
    ({ own: each }) => each.tier === 'org' && statusOf(each) === 'published',
  );
  const templates = [...ofOrg.map(({ outline }) => outline), ...catalog.list()].filter((template) =>
    hasHost(template, host),
  );
  return {
    services: services.slice(0, resultsMax).map(recordOf),
    templates: templates.slice(0, resultsMax).map(referenceTo),
    isCut: [services, own, templates].some(({ length }) => length > resultsMax),
  };
}

/** Services that a user can call, with what deny rules are compared with. */
export async function listConnected(
  { db }: Pick<Deps, 'db'>,
  { orgId, userId }: { orgId: string; userId: string },
): Promise<{ services: ServiceRecord[] }> {
  const services = await listAllServices(db, { orgId, userId, limit: resultsMax });
  return { services: services.map(recordOf) };
}
