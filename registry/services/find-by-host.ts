import type { ServiceRecord } from '#contracts/bus/registry';
import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import { toReference } from '../templates/catalog.ts';
import type { Deps } from '../deps.ts';
import { matchesHost, otherMatchOf } from './domain/host-match.ts';
import type { TemplateOutline } from '../templates/domain/outline.ts';
import { templateStatusOf } from '../templates/domain/own-template.ts';
import { serviceRecordOf } from './domain/service.ts';
import type { Service } from './domain/service.ts';
import { listAllServices, listServicesByHost } from './connected-service.sql.ts';
import { listTemplates } from '../templates/template.sql.ts';

const resultsMax = 200;

/**
 * Finds all services and templates to which a request to this host could belong: those that have it,
 * those whose API has another root there, and those whose provider is there. Their deny rules all
 * apply to the request (docs/reference/permissions.md#what-a-deny-reaches).
 */
export async function findByHost(
  { db, catalog }: Pick<Deps, 'db' | 'catalog'>,
  { orgId, userId, host }: { orgId: string; userId: string; host: string },
): Promise<{ services: ServiceRecord[]; templates: TemplateReference[]; isCut: boolean }> {
  const limit = resultsMax + 1;
  const own = await listTemplates(db, { orgId, userId, key: null, limit });
  const isThere = (template: TemplateOutline | CompiledTemplate) => matchesHost(template, host);
  const ownTemplates = own.map(({ outline }) => outline).filter(isThere);
  const builtInTemplates = catalog.list().filter(isThere);
  // Templates of users are left out, because a user's template must not restrict other users.
  const orgTemplates = own
    .filter(({ own: each }) => each.tier === 'org' && templateStatusOf(each) === 'published')
    .map(({ outline }) => outline)
    .filter(isThere);
  const templates = [...orgTemplates, ...builtInTemplates].map(toReference);
  const newest = new Map(
    [...ownTemplates, ...builtInTemplates].map((template) => [nameOf(template), template]),
  );
  const services = await listServicesByHost(db, {
    orgId,
    userId,
    host,
    templates: [...newest.values()],
    limit,
  });
  return {
    services: services
      .slice(0, resultsMax)
      .flatMap((service) =>
        toRecord(service, { host, newest: newest.get(nameOf(service.template)) }),
      ),
    templates: templates.slice(0, resultsMax),
    isCut: [services, own, templates].some(({ length }) => length > resultsMax),
  };
}

/**
 * The service as it may be on the host; none when it is not there. At a root that the newest version
 * of its template names, the operations are those of that version, because the version that the
 * service keeps may not know the root.
 */
function toRecord(
  service: Service,
  { host, newest }: { host: string; newest: TemplateOutline | CompiledTemplate | undefined },
): ServiceRecord[] {
  const record = serviceRecordOf(service);
  if (service.hosts.includes(host)) return [record];
  const match = newest && otherMatchOf(service, newest, host);
  if (newest === undefined || match === undefined) return [];
  return [match === 'root' ? { ...record, template: toReference(newest) } : record];
}

function nameOf({
  tier,
  ownerId,
  key,
}: Pick<TemplateReference, 'tier' | 'ownerId' | 'key'>): string {
  return `${tier} ${ownerId ?? ''} ${key}`;
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
