import type { TemplateReference } from '#contracts/call';
import { platformKey, platformService } from '#contracts/platform';
import type { Principal } from '#contracts/vocabulary';
import { toReference, versionKey } from '../templates/catalog.ts';
import type { Deps } from '../deps.ts';
import type { SearchSource } from './domain/search-index.ts';
import { termsOf } from './domain/search-terms.ts';
import { namesInCalls } from '../services/domain/service.ts';
import type { Service } from '../services/domain/service.ts';
import { indexedActionsMax } from './search-indexes.ts';
import { listServices } from '../services/connected-service.sql.ts';
import { listConnectableTemplates } from '../services/list-connectable-templates.ts';
import { getTemplateVersion } from '../templates/get-template-version.ts';

/** A connected service, or a template that is not connected, to be searched. */
export interface ServiceSource extends SearchSource {
  readonly template: TemplateReference;
  readonly connected: { readonly service: SearchedService; readonly name: string } | null;
}

export type SearchedService = Pick<
  Service,
  'name' | 'secrets' | 'connection' | 'autoAllowReads' | 'baseUrl'
>;

/**
 * The service `platform`, with the actions of the gateway itself. Every search includes it, after
 * the connected services.
 */
const platformSource = {
  template: platformService.template,
  connected: { service: platformService, name: platformKey },
};

/** The user may have 100 services and the org another 100. */
const servicesMax = 200;

/**
 * Lists all services and templates that the caller may see, each with its index. The list ends at
 * the number of actions that one search may read; services come first, so templates are left out
 * first.
 */
export async function listSearchSources(
  deps: Pick<Deps, 'db' | 'catalog' | 'searchIndexes'>,
  caller: Principal,
  { catalog }: { catalog: boolean },
): Promise<ServiceSource[]> {
  const { orgId, userId } = caller;
  const services = await listServices(deps.db, { orgId, userId, after: null, limit: servicesMax });
  const callNames = namesInCalls(services);
  const connectedSources = services.flatMap((service, index) =>
    service.isDisabled
      ? []
      : [
          {
            template: service.template,
            connected: { service, name: callNames[index] ?? service.name },
          },
        ],
  );
  const connectableTemplates = catalog ? await listConnectableTemplates(deps, caller) : [];
  const otherSources = connectableTemplates.map(({ outline }) => ({
    template: toReference(outline),
    connected: null,
  }));

  const sources: ServiceSource[] = [];
  let actionCount = 0;
  for (const { template, connected: by } of [
    ...connectedSources,
    platformSource,
    ...otherSources,
  ]) {
    const load = () => getTemplateVersion(deps, { orgId, template });
    const index = await deps.searchIndexes.get(versionKey(orgId, template), load);
    actionCount += index.actions.length;
    if (actionCount > indexedActionsMax) break;
    const texts = [by?.service.name ?? '', index.title, template.key];
    const names = texts.map(termsOf).filter((name) => name.length > 0);
    sources.push({ template, connected: by, index, names, isConnected: by !== null });
  }
  return sources;
}
