import type { ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import { toReference } from '../templates/catalog.ts';
import type { Deps } from '../deps.ts';
import { matchesHost } from './domain/host-match.ts';
import { templateStatusOf } from '../templates/domain/own-template.ts';
import { serviceRecordOf } from './domain/service.ts';
import { listAllServices, listServicesByHost } from './connected-service.sql.ts';
import { listTemplates } from '../templates/template.sql.ts';

const resultsMax = 200;

/**
 * Finds all services and templates to which a request to this host could belong. Their deny rules
 * all apply to the request, whether it calls an action or a full URL
 * (docs/reference/permissions.md#what-a-deny-reaches).
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
  // Templates of users are left out, because a user's template must not restrict other users.
  const orgTemplates = own.filter(
    ({ own: each }) => each.tier === 'org' && templateStatusOf(each) === 'published',
  );
  const templates = [...orgTemplates.map(({ outline }) => outline), ...catalog.list()].filter(
    (template) => matchesHost(template, host),
  );
  return {
    services: services.slice(0, resultsMax).map(serviceRecordOf),
    templates: templates.slice(0, resultsMax).map(toReference),
    isCut: [services, own, templates].some(({ length }) => length > resultsMax),
  };
}

/**
 * Lists the services that a user can call, or those of other users, with the data that deny rules
 * need.
 */
export async function listConnected(
  { db }: Pick<Deps, 'db'>,
  query: { orgId: string; userId: string; whose: 'callable' | 'others'; after: string | null },
): Promise<{ services: ServiceRecord[]; next: string | null }> {
  const foundServices = await listAllServices(db, { ...query, limit: resultsMax + 1 });
  const services = foundServices.slice(0, resultsMax);
  const next = foundServices.length > resultsMax ? (services.at(-1)?.id ?? null) : null;
  return { services: services.map(serviceRecordOf), next };
}
