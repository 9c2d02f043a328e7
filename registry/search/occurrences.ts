import { LRUCache } from 'lru-cache';

import type { VersionIndex } from './domain/search-index.ts';
import type { Vocabulary } from './domain/search-query.ts';

/** The sets of indexes whose counts are kept, and the words of each: 10 MB at most. */
const setsMax = 32;
const termsMax = 4_000;

/**
 * Counts in how many actions of some indexes a word occurs. A search asks for every word of the
 * actions that it compares with the query, and an org searches the same indexes again and again, so
 * the counts are kept for each set of indexes. They never change, because an index never does.
 */
export function createOccurrences(): Vocabulary['occurrencesIn'] {
  const ids = new WeakMap<VersionIndex, number>();
  let lastId = 0;
  const idOf = (index: VersionIndex) => {
    let id = ids.get(index);
    if (id === undefined) ids.set(index, (id = lastId += 1));
    return id;
  };
  const countsBySet = new LRUCache<string, Map<string, number>>({ max: setsMax });
  return (indexes) => {
    const set = indexes
      .map(idOf)
      .toSorted((left, right) => left - right)
      .join();
    const counts = countsBySet.get(set) ?? new Map<string, number>();
    countsBySet.set(set, counts);
    return (term) => {
      let count = counts.get(term);
      if (count === undefined) {
        count = 0;
        for (const { postings } of indexes) count += postings.get(term)?.actions.length ?? 0;
        // Words that only queries contain are not kept: they could be of any length and number.
        if (count > 0) {
          if (counts.size === termsMax) counts.clear();
          counts.set(term, count);
        }
      }
      return count;
    };
  };
}
