import type { IndexedAction, VersionIndex } from './search-index.ts';
import { matchName, matchWord, meaningsOf } from './search-match.ts';
import type { MeantWord, QueryWord, WordMatch } from './search-match.ts';
import { otherProducts } from './other-products.ts';
import type { SearchSource } from './search-index.ts';
import { isLightWord, queryTermsOf } from './search-terms.ts';

/** The words of one query, and how much each of them says among the searched actions. */
export interface ParsedQuery {
  readonly words: readonly QueryWord[];
  /** The weight of each word: rare words say more than frequent ones. */
  readonly rarity: readonly number[];
  /** The weight of a word in a phrase of an action. */
  readonly rarityOf: (term: string) => number;
  /** How well each word matches each action of a version. */
  readonly matches: ReadonlyMap<VersionIndex, readonly (WordMatch | undefined)[]>;
  /** Whether the query names a product that is not among the searched services. */
  readonly namesOtherProduct: boolean;
}

/** What is known about the words of all indexes. */
export interface Vocabulary {
  /** The words in all indexes of which `term` is probably a misspelling. */
  readonly misspellings: (term: string) => readonly MeantWord[];
  /** The function that says in how many actions of these indexes a word occurs. */
  readonly occurrencesIn: (indexes: readonly VersionIndex[]) => (term: string) => number;
}

/** The least weight of a frequent word: words such as `list` are frequent, but users mean them. */
const rarityMin = 0.42;
/** A query that names a service in full is about that service. */
const rarityOfName = 0.8;
/**
 * The weight of a word that no index contains. Such a word is more often a name in the user's data
 * than part of what the user searches for, so it counts less than a rare word.
 */
const rarityOfUnknown = 0.3;

/**
 * Matches the words of a query with all actions. The weight of a word is relative to that of a word
 * that occurs once, so that weights mean the same among few actions and among many.
 */
export function readQuery(
  query: string,
  sources: readonly SearchSource[],
  vocabulary: Vocabulary,
): ParsedQuery {
  const words = queryTermsOf(query).map((term) => meaningsOf(term, vocabulary.misspellings));
  const indexes = [...new Set(sources.map(({ index }) => index))];
  const actionCount = indexes.reduce((sum, { actions }) => sum + actions.length, 0);
  const rarityAt = (occurrences: number) =>
    Math.log(1 + actionCount / (1 + occurrences)) / Math.log(1 + actionCount);
  const countOccurrences = vocabulary.occurrencesIn(indexes);
  const isKnownByWord = words.map(({ term }) => countOccurrences(term) > 0);
  const matches = new Map(
    indexes.map((index) => [
      index,
      words.map((word, at) => matchWord(index, word, isKnownByWord[at] === true)),
    ]),
  );
  const nameTerms = new Set(sources.flatMap(({ names }) => names.flat()));
  const wholeNameTerms = new Set(findWholeNames(words, sources).flat());
  const rarity = words.map((word, at) => {
    let occurrences = 0;
    for (const matched of matches.values()) occurrences += matched[at]?.actions.length ?? 0;
    const isUnknown =
      occurrences === 0 &&
      matchName(nameTerms, word) === 0 &&
      !indexes.some(({ subject }) => subject.has(word.term));
    if (isUnknown || (isLightWord(word.term) && words.length > 1)) return rarityOfUnknown;
    return Math.max(
      rarityMin,
      rarityAt(occurrences),
      wholeNameTerms.has(word.term) ? rarityOfName : 0,
    );
  });
  const rarityOf = (term: string) => rarityAt(countOccurrences(term));
  const namesOtherProduct = words.some(
    ({ term }) => otherProducts.has(term) && !nameTerms.has(term),
  );
  return { words, rarity, rarityOf, matches, namesOtherProduct };
}

/** The names of services that the query contains in full. */
function findWholeNames(
  words: readonly QueryWord[],
  sources: readonly SearchSource[],
): (readonly string[])[] {
  const terms = new Set(words.map(({ term }) => term));
  return sources.flatMap(({ names }) =>
    names.filter((name) => name.length > 0 && name.every((term) => terms.has(term))),
  );
}

/**
 * How well the best phrase of an action matches the query (0 to 1): the cosine of their words,
 * where a word counts by its rarity. Words that only name the service do not make the match worse.
 */
export function matchPhrases(
  { words, rarity, rarityOf }: ParsedQuery,
  { phrases }: IndexedAction,
  isNameByWord: readonly boolean[],
): number {
  let bestMatch = 0;
  for (const phrase of phrases) {
    let matched = 0;
    let askedWeight = 0;
    words.forEach(({ meanings }, at) => {
      const weight = (rarity[at] ?? 0) ** 2;
      let quality = 0;
      for (const { term, quality: meaningQuality } of meanings)
        if (meaningQuality > quality && phrase.includes(term)) quality = meaningQuality;
      matched += quality * weight;
      if (quality > 0 || isNameByWord[at] !== true) askedWeight += weight;
    });
    if (matched === 0) continue;
    const phraseWeight = phrase.reduce((sum, term) => sum + rarityOf(term) ** 2, 0);
    bestMatch = Math.max(
      bestMatch,
      matched / Math.sqrt(Math.max(askedWeight, matched) * Math.max(phraseWeight, matched)),
    );
  }
  return bestMatch;
}
