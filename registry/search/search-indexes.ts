import { setImmediate } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';
import SearchableMap from 'minisearch/SearchableMap';

import type { CompiledTemplate } from '#contracts/template';
import { indexTemplate } from './domain/search-index.ts';
import type { VersionIndex } from './domain/search-index.ts';
import { misspeltQuality, editsMax } from './domain/search-match.ts';
import type { MeantWord } from './domain/search-match.ts';
import type { Vocabulary } from './domain/search-query.ts';
import { createOccurrences } from './occurrences.ts';

/**
 * The number of actions that the indexes keep in memory, at about two kilobytes each. One search
 * reads at most as many.
 */
export const indexedActionsMax = 50_000;
const misspellingsMax = 2_000;

/**
 * The search indexes of recently searched template versions. All services and orgs that use a
 * version share its index. Other tasks can run while an index is built.
 */
export interface SearchIndexes extends Vocabulary {
  /** Returns the index of a version. Calls `load` only when the version is not indexed yet. */
  get(key: string, load: () => Promise<CompiledTemplate>): Promise<VersionIndex>;
}

export function createSearchIndexes(keptActionsMax = indexedActionsMax): SearchIndexes {
  /**
   * Maps each word to the number of indexes that contain it. The vocabulary covers all indexes, so
   * that a misspelling needs one look-up and not one per index.
   */
  const indexCountByTerm = new SearchableMap<number>();
  const misspellings = new LRUCache<string, readonly MeantWord[]>({ max: misspellingsMax });
  const pendingIndexes = new Map<string, Promise<VersionIndex>>();
  const changeTermCounts = ({ terms }: VersionIndex, by: 1 | -1) => {
    for (const term of terms) {
      const indexCount = (indexCountByTerm.get(term) ?? 0) + by;
      if (indexCount > 0) indexCountByTerm.set(term, indexCount);
      else indexCountByTerm.delete(term);
    }
    misspellings.clear();
  };
  const keptIndexes = new LRUCache<string, VersionIndex>({
    maxSize: keptActionsMax,
    sizeCalculation: ({ actions }) => Math.min(actions.length + 1, keptActionsMax),
    dispose: (index) => changeTermCounts(index, -1),
  });
  const buildIndex = async (key: string, load: () => Promise<CompiledTemplate>) => {
    const index = await indexTemplate(await load(), () => setImmediate());
    changeTermCounts(index, 1);
    keptIndexes.set(key, index);
    return index;
  };

  return {
    occurrencesIn: createOccurrences(),
    async get(key, load) {
      const cachedIndex = keptIndexes.get(key) ?? pendingIndexes.get(key);
      if (cachedIndex !== undefined) return cachedIndex;
      const newIndex = buildIndex(key, load).finally(() => pendingIndexes.delete(key));
      pendingIndexes.set(key, newIndex);
      return newIndex;
    },
    misspellings(term) {
      const cachedTerms = misspellings.get(term);
      if (cachedTerms !== undefined) return cachedTerms;
      const editsLimit = editsMax(term);
      // A word of four letters keeps its e, which stems of longer words have lost.
      const endsInE = term.length === 4 && term.endsWith('e');
      const editRadius = endsInE ? editsLimit + 1 : editsLimit;
      const similarTerms =
        editsLimit === 0 ? [] : [...indexCountByTerm.fuzzyGet(term, editRadius).keys()];
      const qualityOf = (word: string) =>
        Math.max(misspeltQuality(term, word), endsInE ? misspeltQuality(term, `${word}e`) : 0);
      const matchingTerms = similarTerms
        .map((word) => ({ term: word, quality: qualityOf(word) }))
        .filter(({ quality }) => quality > 0);
      misspellings.set(term, matchingTerms);
      return matchingTerms;
    },
  };
}
