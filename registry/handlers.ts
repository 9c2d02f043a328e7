import type { Handlers } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { Deps } from './deps.ts';
import { getTemplateVersion } from './lookups/template-version.ts';
import { continueUpload } from './usecases/continue-upload.ts';
import { createService } from './usecases/create-service.ts';
import { createTemplate } from './usecases/create-template.ts';
import { acceptServiceTool, getServiceTool, listServiceTools } from './usecases/service-tools.ts';
import { discoverServiceTools } from './usecases/discover-service-tools.ts';
import { deleteService } from './usecases/delete-service.ts';
import { deleteTemplate } from './usecases/delete-template.ts';
import { describeTemplateOauth } from './usecases/describe-template-oauth.ts';
import { findByHost, listConnected } from './usecases/find-by-host.ts';
import { findSecretUses } from './usecases/find-secret-uses.ts';
import { getService } from './usecases/get-service.ts';
import { getTemplateDocument } from './usecases/get-template-document.ts';
import { getTemplate } from './usecases/get-template.ts';
import { getUpload } from './usecases/get-upload.ts';
import { importTemplate } from './usecases/import-template.ts';
import { listServices } from './usecases/list-services.ts';
import { listTemplateVersions } from './usecases/list-template-versions.ts';
import { listTemplates } from './usecases/list-templates.ts';
import { publishTemplate } from './usecases/publish-template.ts';
import { followTools } from './usecases/refresh-tools.ts';
import { resolveService } from './usecases/resolve-service.ts';
import { search } from './usecases/search.ts';
import { startUpload } from './usecases/start-upload.ts';
import { switchTemplate } from './usecases/switch-template.ts';
import { updateService } from './usecases/update-service.ts';
import { updateTemplate } from './usecases/update-template.ts';
import { upgradeService } from './usecases/upgrade-service.ts';
import { validateTemplate } from './usecases/validate-template.ts';

export function createHandlers(deps: Deps): Handlers<typeof registry> {
  return {
    resolveService: (request) => resolveService(deps, request),
    getCompiledTemplate: (request) => getTemplateVersion(deps, request),
    describeTemplateOauth: (request) => describeTemplateOauth(deps, request),
    findByHost: (request) => findByHost(deps, request),
    listConnected: (request) => listConnected(deps, request),
    findSecretUses: (request) => findSecretUses(deps, request),
    followTools: (request, deadline) => followTools(deps, request, deadline),
    search: (request, deadline) => search(deps, request, deadline),
    listServices: (request, deadline) => listServices(deps, request, deadline),
    getService: (request, deadline) => getService(deps, request, deadline),
    createService: (request, deadline) => createService(deps, request, deadline),
    updateService: (request, deadline) => updateService(deps, request, deadline),
    discoverServiceTools: (request, deadline) => discoverServiceTools(deps, request, deadline),
    listServiceTools: (request) => listServiceTools(deps, request),
    getServiceTool: (request) => getServiceTool(deps, request),
    acceptServiceTool: (request) => acceptServiceTool(deps, request),
    deleteService: (request) => deleteService(deps, request),
    upgradeService: (request, deadline) => upgradeService(deps, request, deadline),
    listTemplates: (request) => listTemplates(deps, request),
    getTemplate: (request) => getTemplate(deps, request),
    getTemplateDocument: (request) => getTemplateDocument(deps, request),
    listTemplateVersions: (request) => listTemplateVersions(deps, request),
    validateTemplate: (request) => validateTemplate(deps, request),
    createTemplate: (request) => createTemplate(deps, request),
    updateTemplate: (request) => updateTemplate(deps, request),
    publishTemplate: (request) => publishTemplate(deps, request),
    switchTemplate: (request) => switchTemplate(deps, request),
    deleteTemplate: (request) => deleteTemplate(deps, request),
    importTemplate: (request, deadline) => importTemplate(deps, request, deadline),
    startUpload: (request) => startUpload(deps, request),
    continueUpload: (request) => continueUpload(deps, request),
    getUpload: (request) => getUpload(deps, request),
    ping: async () => ({}),
  };
}
