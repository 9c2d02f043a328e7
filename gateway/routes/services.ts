import type { serviceToolRoutes } from '#contracts/http/service-tools';
import type { serviceRoutes } from '#contracts/http/services';
import { nameReference } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { answer, answerNoContent, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';
import { nameMeantBy } from '../input/domain/name-meant.ts';
import { findRulesThatStop } from './rules-that-stop.ts';

/** Refuses names that no connected service can have. */
function parseServiceName(name: string): string {
  if (nameReference.safeParse(name).success) return name;
  const suggestedName = nameMeantBy(name);
  throw new AppError('unknown_service', 'No service has that name; list them at /v1/services.', {
    details: suggestedName === undefined ? {} : { did_you_mean: suggestedName },
  });
}

export function serviceToolHandlers({ registry }: Deps): HandlersOf<typeof serviceToolRoutes> {
  return {
    discoverServiceTools: ({ caller: { principal }, params: { name }, deadline }) =>
      answer(
        200,
        registry.discoverServiceTools({ principal, name: parseServiceName(name) }, deadline),
      ),
    listServiceTools: ({ caller: { principal }, params: { name }, query, deadline }) =>
      answer(
        200,
        registry.listServiceTools(
          { principal, name: parseServiceName(name), page: pageRequestOf(query) },
          deadline,
        ),
      ),
    getServiceTool: ({ caller: { principal }, params: { name, tool }, deadline }) =>
      answer(
        200,
        registry.getServiceTool({ principal, name: parseServiceName(name), tool }, deadline),
      ),
    acceptServiceTool: ({ caller: { principal }, params: { name, tool }, body, deadline }) =>
      answer(
        200,
        registry.acceptServiceTool(
          { principal, name: parseServiceName(name), tool, hash: body.hash },
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
      // Only admins may set an address. So policy records addresses from admins only; the registry
      // refuses other callers.
      if (baseUrl !== undefined && claims.role === 'admin') {
        await policy.recordAddress({ principal, baseUrl }, deadline);
      }
      return answer(201, registry.createService({ principal, body }, deadline));
    },
    getService: ({ caller: { principal }, params: { name }, deadline }) =>
      answer(200, registry.getService({ principal, name: parseServiceName(name) }, deadline)),
    updateService: ({ caller: { principal }, params: { name }, body, deadline }) =>
      answer(
        200,
        registry.updateService({ principal, name: parseServiceName(name), body }, deadline),
      ),
    async upgradeService({ caller: { principal }, params: { name }, body, deadline }) {
      const request = { principal, name: parseServiceName(name), body };
      const upgraded = await registry.upgradeService(request, deadline);
      const rules = await findRulesThatStop({ policy }, upgraded, { principal, deadline });
      const stoppedRules = rules === undefined ? {} : { rules_that_stop: rules };
      return { status: 200, body: { ...upgraded, ...stoppedRules } };
    },
    deleteService: ({ caller: { principal }, params: { name }, deadline }) =>
      answerNoContent(
        registry.deleteService({ principal, name: parseServiceName(name) }, deadline),
      ),
  };
}
