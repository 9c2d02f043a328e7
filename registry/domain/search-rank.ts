import { fieldWeights } from './search-index.ts';
import type { IndexedAction, VersionIndex } from './search-index.ts';
import { matchName, matchWord, wordOf } from './search-match.ts';
import type { Meant, Word, WordMatch } from './search-match.ts';
import { queryTermsOf } from './search-terms.ts';

/** One connected service, or one template that is not connected. */
export interface SearchSource {
  readonly index: VersionIndex;
  /** Words of what people call it: its name, its title, the key of its template. */
  readonly nameTerms: readonly string[];
  readonly isConnected: boolean;
}

export interface Hit<Source extends SearchSource> {
  readonly source: Source;
  readonly action: IndexedAction;
  /** From 0 to 1, comparable between services: 1 says that every word stands in the action's key. */
  readonly score: number;
}

/** What is far behind the best is noise, and would hide the templates that come after it. */
const cutoff = 0.4;
/** Prefers the action whose key says the least beyond what was asked. */
const brevityBonus = 0.05;

/**
 * The best actions for a query. A row's score is the share of the query's words that it has,
 * rare words counting more. Connected services come first.
 */
export function rankActions<Source extends SearchSource>(
  query: string,
  sources: readonly Source[],
  { limit, misspellings }: { limit: number; misspellings: (term: string) => readonly Meant[] },
): Hit<Source>[] {
  const words = queryTermsOf(query).map((term) => wordOf(term, misspellings));
  const matched = matchAll(new Set(sources.map(({ index }) => index)), words);
  const connected = createTop<Hit<Source>>(limit);
  const others = createTop<Hit<Source>>(limit);
  for (const source of sources) {
    const found = matched.get(source.index);
    if (found === undefined) continue;
    const top = source.isConnected ? connected : others;
    const { actions } = source.index;
    const named = words.map((word) => matchName(source.nameTerms, word));
    // Where the query names the service, all its actions are meant.
    const isNamed = named.some((weight) => weight > 0);
    for (const position of isNamed ? actions.keys() : found.actions) {
      const action = actions[position] as IndexedAction;
      const share = isNamed ? found.shareOf(position, named) : (found.shares[position] ?? 0);
      const score = (share + brevityBonus / action.keyTerms) / (1 + brevityBonus);
      if (score > top.worst()) top.add({ source, action, score });
    }
  }
  const best = Math.max(...[connected, others].map((top) => top.items[0]?.score ?? 0));
  return [...connected.items, ...others.items]
    .filter(({ score }) => score >= best * cutoff)
    .slice(0, limit);
}

/** What a query is to one version, whichever services use it. */
interface Matched {
  readonly actions: readonly number[];
  /** By action, the share of the query that it has. */
  readonly shares: Float32Array;
  /** The same, where the service's name has some of the words too. */
  shareOf(action: number, named: readonly number[]): number;
}

function matchAll(
  indexes: ReadonlySet<VersionIndex>,
  words: readonly Word[],
): Map<VersionIndex, Matched> {
  const byIndex = [...indexes].map((index) => ({
    index,
    found: words.map((word) => matchWord(index, word)),
  }));
  const all = byIndex.reduce((sum, { index }) => sum + index.actions.length, 0);
  // A word that few actions have tells more than one that all have.
  const rarity = words.map((_, at) => {
    const having = byIndex.reduce((sum, { found }) => sum + (found[at]?.actions.length ?? 0), 0);
    return Math.log(2 + all / (1 + having));
  });
  const most = rarity.reduce((sum, each) => sum + each, 0) * fieldWeights[0];
  const parts = rarity.map((each) => each / most);
  return new Map(byIndex.map(({ index, found }) => [index, matchedOf(index, found, parts)]));
}

function matchedOf(
  index: VersionIndex,
  found: readonly (WordMatch | undefined)[],
  parts: readonly number[],
): Matched {
  const shares = new Float32Array(index.actions.length);
  const actions: number[] = [];
  found.forEach((match, at) => {
    const part = parts[at] ?? 0;
    for (const action of match?.actions ?? []) {
      if (shares[action] === 0) actions.push(action);
      shares[action] = (shares[action] ?? 0) + (match?.weights[action] ?? 0) * part;
    }
  });
  return {
    actions,
    shares,
    shareOf: (action, named) =>
      parts.reduce(
        (sum, part, at) => sum + part * Math.max(found[at]?.weights[action] ?? 0, named[at] ?? 0),
        0,
      ),
  };
}

/** The best of many, in order, without keeping the rest. */
function createTop<Item extends { readonly score: number }>(limit: number) {
  const items: Item[] = [];
  return {
    items,
    worst: () => (items.length < limit ? 0 : (items.at(-1)?.score ?? 0)),
    add(item: Item) {
      const at = items.findIndex(({ score }) => score < item.score);
      items.splice(at === -1 ? items.length : at, 0, item);
      if (items.length > limit) items.pop();
    },
  };
}
