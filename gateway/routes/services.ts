import type { serviceRoutes } from '#contracts/http/services';
import type { Deps } from '../deps.ts';
import { answer, done, pageOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function serviceHandlers({ registry }: Deps): HandlersOf<typeof serviceRoutes> {
  return {
    listServices: ({ caller: { principal }, query, deadline }) =>
      answer(200, registry.listServices({ principal, page: pageOf(query) }, deadline)),
    createService: ({ caller: { principal }, body, deadline }) =>
      answer(201, registry.createService({ principal, body }, deadline)),
    getService: ({ caller: { principal }, params: { name }, deadline }) =>
      answer(200, registry.getService({ principal, name }, deadline)),
    updateService: ({ caller: { principal }, params: { name }, body, deadline }) =>
      answer(200, registry.updateService({ principal, name, body }, deadline)),
    deleteService: ({ caller: { principal }, params: { name }, deadline }) =>
      done(registry.deleteService({ principal, name }, deadline)),
    listTemplates: ({ caller: { principal }, query, deadline }) =>
      answer(200, registry.listTemplates({ principal, page: pageOf(query) }, deadline)),
    getTemplate: ({ caller: { principal }, params: { name }, deadline }) =>
      answer(200, registry.getTemplate({ principal, key: name }, deadline)),
  };
}
