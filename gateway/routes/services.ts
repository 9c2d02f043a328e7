import type { serviceToolRoutes } from '#contracts/http/service-tools';
import type { serviceRoutes } from '#contracts/http/services';
import { nameReference } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { answer, done, pageRequestOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

/** No connected service can have such a name, so there is none. */
function checkedName(name: string): string {
  if (nameReference.safeParse(name).success) return name;
  const lower = name.toLowerCase();
  throw new AppError('unknown_service', 'No service has that name; list them at /v1/services.', {
    details: nameReference.safeParse(lower).success ? { did_you_mean: lower } : {},
  });
}

export function serviceToolHandlers({ registry }: Deps): HandlersOf<typeof serviceToolRoutes> {
  return {
    discoverServiceTools: ({ caller: { principal }, params: { name }, deadline }) =>
      answer(200, registry.discoverServiceTools({ principal, name: checkedName(name) }, deadline)),
    listServiceTools: ({ caller: { principal }, params: { name }, query, deadline }) =>
      answer(
        200,
        registry.listServiceTools(
          { principal, name: checkedName(name), page: pageRequestOf(query) },
          deadline,
        ),
      ),
    getServiceTool: ({ caller: { principal }, params: { name, tool }, deadline }) =>
      answer(200, registry.getServiceTool({ principal, name: checkedName(name), tool }, deadline)),
    acceptServiceTool: ({ caller: { principal }, params: { name, tool }, body, deadline }) =>
      answer(
        200,
        registry.acceptServiceTool(
          { principal, name: checkedName(name), tool, hash: body.hash },
          deadline,
        ),
      ),
  };
}

export function serviceHandlers({ registry, policy }: Deps): HandlersOf<typeof serviceRoutes> {
  return {
    listServices: ({ caller: { principal }, query, deadline }) =>
      answer(
        200,
        registry.listServices(
          { principal, page: pageRequestOf(query), catalog: query.catalog === 'true' },
          deadline,
        ),
      ),
    async createService({ caller: { principal, claims }, body, deadline }) {
      const { base_url: baseUrl } = body;
      // Of others the registry refuses it, in its own words.
      if (baseUrl !== undefined && claims.role === 'admin') {
        await policy.recordAddress({ principal, baseUrl }, deadline);
      }
      return answer(201, registry.createService({ principal, body }, deadline));
    },
    getService: ({ caller: { principal }, params: { name }, deadline }) =>
      answer(200, registry.getService({ principal, name: checkedName(name) }, deadline)),
    updateService: ({ caller: { principal }, params: { name }, body, deadline }) =>
      answer(200, registry.updateService({ principal, name: checkedName(name), body }, deadline)),
    upgradeService: ({ caller: { principal }, params: { name }, body, deadline }) =>
      answer(200, registry.upgradeService({ principal, name: checkedName(name), body }, deadline)),
    deleteService: ({ caller: { principal }, params: { name }, deadline }) =>
      done(registry.deleteService({ principal, name: checkedName(name) }, deadline)),
  };
}
