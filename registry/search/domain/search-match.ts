import { distance } from 'fastest-levenshtein';

import type { Postings, VersionIndex } from './search-index.ts';
import { synonymsOf } from './search-terms.ts';

/** A word that the user may have meant, and how likely that is (0 to 1). */
export interface MeantWord {
  readonly term: string;
  readonly quality: number;
}

export interface QueryWord {
  readonly term: string;
  readonly meanings: readonly MeantWord[];
}

/**
 * How well each action of one template version matches a word of the query (0 to 1), and a list of
 * the actions that match at all.
 */
export interface WordMatch {
  readonly weights: Float32Array;
  readonly actions: readonly number[];
}

const synonymQuality = 0.7;
const prefixQuality = 0.9;
/**
 * The quality of a prefix match for a word that the indexes contain unchanged: the user hardly
 * meant the beginning of a longer word.
 */
const prefixQualityOfKnown = 0.45;
const prefixCharactersMin = 2;
/** The largest number of words that one prefix matches. Only a short prefix has more. */
const prefixTermsMax = 50;

export function meaningsOf(
  term: string,
  misspellings: (term: string) => readonly MeantWord[],
): QueryWord {
  const synonyms = synonymsOf(term).map((other) => ({ term: other, quality: synonymQuality }));
  return { term, meanings: [{ term, quality: 1 }, ...synonyms, ...misspellings(term)] };
}

/**
 * Matches a word of the query with the actions of a version; undefined when none matches. `isKnown`
 * is true when an index contains the word unchanged.
 */
export function matchWord(
  { actions, postings, terms }: VersionIndex,
  { term, meanings }: QueryWord,
  isKnown: boolean,
): WordMatch | undefined {
  let wordMatch: { weights: Float32Array; actions: number[] } | undefined;
  const addMatch = (list: Postings, quality: number) => {
    wordMatch ??= { weights: new Float32Array(actions.length), actions: [] };
    for (let at = 0; at < list.actions.length; at += 1) {
      const action = list.actions[at] ?? 0;
      const weight = (list.weights[at] ?? 0) * quality;
      const weightBefore = wordMatch.weights[action] ?? 0;
      if (weightBefore === 0) wordMatch.actions.push(action);
      if (weight > weightBefore) wordMatch.weights[action] = weight;
    }
  };
  for (const { term: meantTerm, quality } of meanings) {
    const list = postings.get(meantTerm);
    if (list !== undefined) addMatch(list, quality);
  }
  if (term.length < prefixCharactersMin) return wordMatch;
  const prefixMatchQuality = isKnown ? prefixQualityOfKnown : prefixQuality;
  const first = positionOf(terms, term);
  for (let index = first; index < Math.min(terms.length, first + prefixTermsMax); index += 1) {
    const candidate = terms[index] ?? '';
    if (!candidate.startsWith(term)) break;
    const list = candidate === term ? undefined : postings.get(candidate);
    if (list !== undefined) addMatch(list, prefixMatchQuality * shareOfPrefix(term, candidate));
  }
  return wordMatch;
}

/**
 * How well a word of the query matches the names of a service (0 to 1). The vocabulary of the
 * indexes does not contain names of services, so typos are looked for here.
 */
export function matchName(nameTerms: Iterable<string>, { term }: QueryWord): number {
  let bestQuality = 0;
  for (const word of nameTerms) {
    if (word === term) return 1;
    const prefixNameQuality =
      term.length >= prefixCharactersMin && word.startsWith(term)
        ? prefixQuality * shareOfPrefix(term, word)
        : 0;
    bestQuality = Math.max(bestQuality, prefixNameQuality, misspeltQuality(term, word));
  }
  return bestQuality;
}

/** The position in the alphabetical list at which the word is, or would be. */
function positionOf(terms: readonly string[], term: string): number {
  let low = 0;
  let high = terms.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((terms[middle] ?? '') < term) low = middle + 1;
    else high = middle;
  }
  return low;
}

function shareOfPrefix(term: string, candidate: string): number {
  return Math.sqrt(term.length / candidate.length);
}

const longWordLength = 8;

/**
 * How likely (0 to 1) it is that `term` is a misspelling of `word`: one letter is wrong, two
 * letters in a long word, or two letters are swapped.
 */
export function misspeltQuality(term: string, word: string): number {
  const editsLimit = editsMax(term);
  if (editsLimit === 0 || term === word || Math.abs(term.length - word.length) > editsLimit)
    return 0;
  const editCount = distance(term, word);
  if (editCount > editsLimit) return 0;
  if (editCount === 1 || isLetterSwap(term, word)) return 0.6;
  return term.length >= longWordLength ? 0.4 : 0;
}

/**
 * The largest number of edits that make a misspelling of the word. Swapping two letters counts as
 * two edits.
 */
export function editsMax(term: string): number {
  if (term.length < 4) return 0;
  return term.length < 5 ? 1 : 2;
}

function isLetterSwap(term: string, word: string): boolean {
  const sortedLetters = (text: string) => Array.from(text).toSorted().join('');
  return term.length === word.length && sortedLetters(term) === sortedLetters(word);
}
