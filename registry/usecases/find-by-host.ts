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
 * Every service and template in reach that a request to a host could mean: deny rules on any of them
 * hold for the request, however it is made (docs/reference/permissions.md#what-a-deny-reaches).
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

/** Services that a user can call, or that others have, with what deny rules are compared with. */
export async function listConnected(
  { db }: Pick<Deps, 'db'>,
  asked: { orgId: string; userId: string; whose: 'callable' | 'others'; after: string | null },
): Promise<{ services: ServiceRecord[]; next: string | null }> {
  const found = await listAllServices(db, { ...asked, limit: resultsMax + 1 });
  const services = found.slice(0, resultsMax);
  const next = found.length > resultsMax ? (services.at(-1)?.id ?? null) : null;
  return { services: services.map(recordOf), next };
}
