import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import type { KnownTemplate } from '../domain/own-template.ts';
import { listServices } from '../repository/connected-service.ts';
import { listKnownTemplates, published } from './known-templates.ts';

/** Twice what one owner may connect: the user's own and the org's. */
const servicesMax = 200;

/** What the caller could connect, and no service in its reach is made from yet. */
export async function listNotConnected(
  deps: Pick<Deps, 'db' | 'catalog'>,
  caller: Principal,
): Promise<KnownTemplate[]> {
  const { orgId, userId } = caller;
  const reach = { orgId, userId, after: null, limit: servicesMax };
  const [services, known] = await Promise.all([
    listServices(deps.db, reach),
    listKnownTemplates(deps, caller),
  ]);
  const used = new Set(services.map(({ template: { tier, key } }) => `${tier} ${key}`));
  return published(known).filter(
    ({ outline: { server, tier, key } }) => server !== null && !used.has(`${tier} ${key}`),
  );
}
