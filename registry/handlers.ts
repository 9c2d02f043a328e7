import type { Handlers } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { Deps } from './deps.ts';
import { getTemplateVersion } from './lookups/template-version.ts';
import { createService } from './usecases/create-service.ts';
import { deleteService } from './usecases/delete-service.ts';
import { findByHost } from './usecases/find-by-host.ts';
import { getService } from './usecases/get-service.ts';
import { getTemplate } from './usecases/get-template.ts';
import { listServices } from './usecases/list-services.ts';
import { listTemplates } from './usecases/list-templates.ts';
import { resolveService } from './usecases/resolve-service.ts';
import { search } from './usecases/search.ts';
import { updateService } from './usecases/update-service.ts';

export function createHandlers(deps: Deps): Handlers<typeof registry> {
  return {
    resolveService: (request) => resolveService(deps, request),
    getCompiledTemplate: (request) => getTemplateVersion(deps, request),
    findByHost: (request) => findByHost(deps, request),
    search: (request, deadline) => search(deps, request, deadline),
    listServices: (request, deadline) => listServices(deps, request, deadline),
    getService: (request, deadline) => getService(deps, request, deadline),
    createService: (request, deadline) => createService(deps, request, deadline),
    updateService: (request, deadline) => updateService(deps, request, deadline),
    deleteService: (request) => deleteService(deps, request),
    listTemplates: (request) => listTemplates(deps, request),
    getTemplate: (request) => getTemplate(deps, request),
    ping: async () => ({}),
  };
}
