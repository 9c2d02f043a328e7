import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import type { VisibleTemplate } from '../templates/domain/own-template.ts';
import { listServices } from './connected-service.sql.ts';
import { listVisibleTemplates, listPublishedTemplates } from '../templates/visible-templates.ts';

/** The user may have 100 services and the org another 100. */
const servicesMax = 200;

/**
 * Lists the published templates from which neither the caller's user nor the org has made a
 * service.
 */
export async function listConnectableTemplates(
  deps: Pick<Deps, 'db' | 'catalog'>,
  caller: Principal,
): Promise<VisibleTemplate[]> {
  const { orgId, userId } = caller;
  const servicesQuery = { orgId, userId, after: null, limit: servicesMax };
  const [services, known] = await Promise.all([
    listServices(deps.db, servicesQuery),
    listVisibleTemplates(deps, caller),
  ]);
  const usedKeys = new Set(services.map(({ template: { tier, key } }) => `${tier} ${key}`));
  return listPublishedTemplates(known).filter(
    ({ outline: { server, tier, key } }) => server !== null && !usedKeys.has(`${tier} ${key}`),
  );
}
