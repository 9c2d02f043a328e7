import { setImmediate } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';
import SearchableMap from 'minisearch/SearchableMap';

import type { CompiledTemplate } from '#contracts/template';
import { indexTemplate } from './domain/search-index.ts';
import type { VersionIndex } from './domain/search-index.ts';
import { misspeltQuality, slipsMax } from './domain/search-match.ts';
import type { Meant } from './domain/search-match.ts';

/** Actions that are kept indexed, some two kilobytes each, and that one search looks at. */
export const indexedActionsMax = 50_000;
const misspellingsMax = 2_000;

/**
 * The search index of each template version that was searched lately. One serves every service
 * and every org that uses the version; building one lets calls run in between.
 */
export interface SearchIndexes {
  /** `load` is asked only when the version is not indexed yet. */
  get(key: string, load: () => Promise<CompiledTemplate>): Promise<VersionIndex>;
  /** Words of any indexed version that were probably meant by a misspelt one. */
  readonly misspellings: (term: string) => readonly Meant[];
}

export function createSearchIndexes(actionsMax = indexedActionsMax): SearchIndexes {
  /** How many indexes have a word. Of all of them, so that it is looked for once and not in each. */
  const vocabulary = new SearchableMap<number>();
  const misspellings = new LRUCache<string, readonly Meant[]>({ max: misspellingsMax });
  const building = new Map<string, Promise<VersionIndex>>();
  const count = ({ terms }: VersionIndex, by: 1 | -1) => {
    for (const term of terms) {
      const indexes = (vocabulary.get(term) ?? 0) + by;
      if (indexes > 0) vocabulary.set(term, indexes);
      else vocabulary.delete(term);
    }
    misspellings.clear();
  };
  const kept = new LRUCache<string, VersionIndex>({
    maxSize: actionsMax,
    sizeCalculation: ({ actions }) => Math.min(actions.length + 1, actionsMax),
    dispose: (index) => count(index, -1),
  });
  const build = async (key: string, load: () => Promise<CompiledTemplate>) => {
    const index = await indexTemplate(await load(), () => setImmediate());
    count(index, 1);
    kept.set(key, index);
    return index;
  };

  return {
    async get(key, load) {
      const known = kept.get(key) ?? building.get(key);
      if (known !== undefined) return known;
      const built = build(key, load).finally(() => building.delete(key));
      building.set(key, built);
      return built;
    },
    misspellings(term) {
      const known = misspellings.get(term);
      if (known !== undefined) return known;
      const most = slipsMax(term);
      const near = most === 0 ? [] : [...vocabulary.fuzzyGet(term, most).keys()];
      const found = near
        .map((word) => ({ term: word, quality: misspeltQuality(term, word) }))
        .filter(({ quality }) => quality > 0);
      misspellings.set(term, found);
      return found;
    },
  };
}
