import { LRUCache } from 'lru-cache';

import type { TemplateReference } from '#contracts/call';
import type { CompiledTemplate } from '#contracts/template';
import { rawHttpTemplate } from './domain/raw-http.ts';
import type { Service } from './domain/service.ts';

/**
 * The built-in templates as the folder has them now, and the versions that were asked for
 * lately. A version never changes, so what is kept can be old but not wrong.
 */
export interface Catalog {
  /** By key, the pseudo-service `http` among them. */
  list(): readonly CompiledTemplate[];
  find(key: string): CompiledTemplate | undefined;
  replace(templates: readonly CompiledTemplate[]): void;
  readonly versions: LRUCache<string, CompiledTemplate>;
}

/** Characters of compiled JSON; as objects they take two to four times as much. */
const versionsSizeMax = 32_000_000;

export function createCatalog(): Catalog {
  let byKey = new Map([[rawHttpTemplate.key, rawHttpTemplate]]);
  return {
    list: () => [...byKey.values()],
    find: (key) => byKey.get(key),
    replace(templates) {
      const all = [rawHttpTemplate, ...templates].map(
        (template) => [template.key, template] as const,
      );
      // A built-in file with the key `http` comes later and takes the place of the pseudo-service.
      byKey = new Map(
        all.toSorted(([left], [right]) => (left < right ? -1 : Number(left > right))),
      );
    },
    versions: new LRUCache({ maxSize: versionsSizeMax }),
  };
}

/** What an upgrade of a service would pin; null when its template is gone or a draft. */
export function newestVersionOf(catalog: Catalog, { template, publishedVersion }: Service) {
  return template.tier === 'global'
    ? (catalog.find(template.key)?.version ?? null)
    : publishedVersion;
}

/** A version of one owner; the org keeps an org's reference from reading another's. */
export function versionKey(
  orgId: string,
  { tier, ownerId, key, version, toolset }: TemplateReference,
): string {
  const own = `${tier === 'global' ? '' : orgId} ${tier} ${ownerId ?? ''} ${key} ${version}`;
  return toolset === undefined ? own : `${own} ${orgId} ${toolset.serviceId} ${toolset.version}`;
}

export function referenceTo({
  key,
  tier,
  ownerId,
  version,
}: Omit<CompiledTemplate, 'actions'>): TemplateReference {
  return { key, tier, ownerId, version };
}
