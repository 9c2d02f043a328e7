import { bind } from '#bus';
import type { Handlers } from '#bus';
import type { registry } from '#contracts/bus/registry';
import type { Relay } from '#events';
import type { Deps } from './deps.ts';
import { getCompiledTemplate } from './templates/get-template-version.ts';
import { continueUpload } from './import/continue-upload.ts';
import { createService } from './services/create-service.ts';
import { createTemplate } from './templates/create-template.ts';
import { acceptServiceTool, getServiceTool, listServiceTools } from './tools/service-tools.ts';
import { discoverServiceTools } from './tools/discover-tools.ts';
import { deleteService } from './services/delete-service.ts';
import { deleteTemplate } from './templates/delete-template.ts';
import { describeTemplateOauth } from './templates/describe-template-oauth.ts';
import { findByHost, listConnected } from './services/find-by-host.ts';
import { findSecretUses } from './services/find-secret-uses.ts';
import { getService } from './services/get-service.ts';
import { getTemplateDocument } from './templates/get-template-document.ts';
import { getTemplate } from './templates/get-template.ts';
import { getUpload } from './import/get-upload.ts';
import { importTemplate } from './import/import-template.ts';
import { listServices } from './services/list-services.ts';
import { listTemplateVersions } from './templates/list-template-versions.ts';
import { listTemplates } from './templates/list-templates.ts';
import { publishTemplate } from './templates/publish-template.ts';
import { followTools } from './tools/refresh-tools.ts';
import { resolveService } from './services/resolve-service.ts';
import { searchActions } from './search/search-actions.ts';
import { startUpload } from './import/start-upload.ts';
import { switchTemplate } from './templates/switch-template.ts';
import { updateService } from './services/update-service.ts';
import { updateTemplate } from './templates/update-template.ts';
import { upgradeService } from './services/upgrade-service.ts';
import { validateTemplate } from './templates/validate-template.ts';

export function createHandlers(
  deps: Deps,
  relay: Pick<Relay, 'backlog'>,
): Handlers<typeof registry> {
  return bind(deps, {
    resolveService,
    getCompiledTemplate,
    describeTemplateOauth,
    findByHost,
    listConnected,
    findSecretUses,
    followTools,
    search: searchActions,
    listServices,
    getService,
    createService,
    updateService,
    discoverServiceTools,
    listServiceTools,
    getServiceTool,
    acceptServiceTool,
    deleteService,
    upgradeService,
    listTemplates,
    getTemplate,
    getTemplateDocument,
    listTemplateVersions,
    validateTemplate,
    createTemplate,
    updateTemplate,
    publishTemplate,
    switchTemplate,
    deleteTemplate,
    importTemplate,
    startUpload,
    continueUpload,
    getUpload,
    ping: async () => ({ outbox: relay.backlog() }),
  });
}
