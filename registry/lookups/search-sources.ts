import type { TemplateReference } from '#contracts/call';
import { platformKey, platformService } from '#contracts/platform';
import type { Principal } from '#contracts/vocabulary';
import { referenceTo, versionKey } from '../catalog.ts';
import type { Deps } from '../deps.ts';
import type { SearchSource } from '../domain/search-rank.ts';
import { termsOf } from '../domain/search-terms.ts';
import { namesInCalls } from '../domain/service.ts';
import type { Service } from '../domain/service.ts';
import { indexedActionsMax } from '../search-indexes.ts';
import { listServices } from '../repository/connected-service.ts';
import { listNotConnected } from './not-connected.ts';
import { getTemplateVersion } from './template-version.ts';

/** What a search looks at: a connected service, or a template that is not connected. */
export interface Source extends SearchSource {
  readonly template: TemplateReference;
  readonly connected: { readonly service: SearchedService; readonly name: string } | null;
}

export type SearchedService = Pick<Service, 'name' | 'secrets' | 'connection' | 'autoAllowReads'>;

/** Always there; searched last of what is connected. */
const platform = {
  template: platformService.template,
  connected: { service: platformService, name: platformKey },
};

/** Twice what one owner may connect: the user's own and the org's. */
const servicesMax = 200;

/**
 * Everything the caller may see, indexed. Connected services come first, so that in an org with
 * more actions than one search looks at it is templates that are left out.
 */
export async function listSearchSources(
  deps: Pick<Deps, 'db' | 'catalog' | 'searchIndexes'>,
  caller: Principal,
  { catalog }: { catalog: boolean },
): Promise<Source[]> {
  const { orgId, userId } = caller;
  const found = await listServices(deps.db, { orgId, userId, after: null, limit: servicesMax });
  const names = namesInCalls(found);
  const connected = found.flatMap((service, at) =>
    service.isDisabled
      ? []
      : [{ template: service.template, connected: { service, name: names[at] ?? service.name } }],
  );
  const unused = catalog ? await listNotConnected(deps, caller) : [];
  const others = unused.map(({ outline }) => ({ template: referenceTo(outline), connected: null }));

  const sources: Source[] = [];
  let actions = 0;
  for (const { template, connected: by } of [...connected, platform, ...others]) {
    const load = () => getTemplateVersion(deps, { orgId, template });
    const index = await deps.searchIndexes.get(versionKey(orgId, template), load);
    actions += index.actions.length;
    if (actions > indexedActionsMax) break;
    const texts = [by?.service.name ?? '', index.title, template.key];
    const nameTerms = [...new Set(texts.flatMap(termsOf))];
    sources.push({ template, connected: by, index, nameTerms, isConnected: by !== null });
  }
  return sources;
}
