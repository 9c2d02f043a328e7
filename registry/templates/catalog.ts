import { LRUCache } from 'lru-cache';

import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import { rawHttpTemplate } from './domain/raw-http.ts';

/**
 * The built-in templates that the folder contains now, and a cache of recently used versions. A
 * version never changes, so the cache is never out of date.
 */
export interface Catalog {
  /** The built-in templates and the pseudo-service `http`, in order of keys. */
  list(): readonly CompiledTemplate[];
  find(key: string): CompiledTemplate | undefined;
  replace(templates: readonly CompiledTemplate[]): void;
  readonly versions: LRUCache<string, CompiledTemplate>;
}

/**
 * The size of the cache in characters of compiled JSON; the objects take two to four times as much
 * memory.
 */
const versionsCharactersMax = 32_000_000;

export function createCatalog(): Catalog {
  let templatesByKey = new Map([[rawHttpTemplate.key, rawHttpTemplate]]);
  return {
    list: () => [...templatesByKey.values()],
    find: (key) => templatesByKey.get(key),
    replace(templates) {
      const entriesByKey = [rawHttpTemplate, ...templates].map(
        (template) => [template.key, template] as const,
      );
      // Sorting keeps the order of equal keys, so a built-in template `http` replaces the
      // pseudo-service.
      templatesByKey = new Map(
        entriesByKey.toSorted(([left], [right]) => (left < right ? -1 : Number(left > right))),
      );
    },
    versions: new LRUCache({ maxSize: versionsCharactersMax }),
  };
}

/**
 * The version that an upgrade of a service would pin; null when the service's template no longer
 * exists or is a draft.
 */
export function newestVersionOf(
  catalog: Catalog,
  {
    template,
    publishedVersion,
  }: { readonly template: TemplateReference; readonly publishedVersion: number | null },
): number | null {
  return template.tier === 'global'
    ? (catalog.find(template.key)?.version ?? null)
    : publishedVersion;
}

/**
 * The cache key of a version. It contains the org, so that no request reads a version of another
 * org.
 */
export function versionKey(
  orgId: string,
  { tier, ownerId, key, version, toolset }: TemplateReference,
): string {
  const templateVersionKey = `${tier === 'global' ? '' : orgId} ${tier} ${ownerId ?? ''} ${key} ${version}`;
  return toolset === undefined
    ? templateVersionKey
    : `${templateVersionKey} ${orgId} ${toolset.serviceId} ${toolset.version}`;
}

export function toReference({
  key,
  tier,
  ownerId,
  version,
}: Omit<CompiledTemplate, 'actions'>): TemplateReference {
  return { key, tier, ownerId, version };
}
