import { distance } from 'fastest-levenshtein';

import { fieldWeights } from './search-index.ts';
import type { VersionIndex } from './search-index.ts';
import { synonymsOf } from './search-terms.ts';

/** A word that may have been meant by another, and how sure that is (0 to 1). */
export interface Meant {
  readonly term: string;
  readonly quality: number;
}

export interface Word {
  readonly term: string;
  readonly meanings: readonly Meant[];
}

/** How well each action of one version matches a word, and which do at all. */
export interface WordMatch {
  readonly weights: Float32Array;
  readonly actions: readonly number[];
}

const synonymQuality = 0.7;
const prefixQuality = 0.9;
const prefixMin = 2;
/** Words of one version that a beginning may stand for; a longer beginning has fewer. */
const prefixTermsMax = 50;
const nameWeight = 2;

export function wordOf(term: string, misspellings: (term: string) => readonly Meant[]): Word {
  const synonyms = synonymsOf(term).map((other) => ({ term: other, quality: synonymQuality }));
  return { term, meanings: [{ term, quality: 1 }, ...synonyms, ...misspellings(term)] };
}

/** Undefined where no action of the version has the word. */
export function matchWord(
  { actions, postings, terms }: VersionIndex,
  { term, meanings }: Word,
): WordMatch | undefined {
  let matched: { weights: Float32Array; actions: number[] } | undefined;
  const note = (list: readonly number[], quality: number) => {
    matched ??= { weights: new Float32Array(actions.length), actions: [] };
    for (const posting of list) {
      const action = Math.trunc(posting / fieldWeights.length);
      const weight = (fieldWeights[posting % fieldWeights.length] ?? 0) * quality;
      const before = matched.weights[action] ?? 0;
      if (before === 0) matched.actions.push(action);
      if (weight > before) matched.weights[action] = weight;
    }
  };
  for (const { term: meant, quality } of meanings) {
    const list = postings.get(meant);
    if (list !== undefined) note(list, quality);
  }
  if (term.length < prefixMin) return matched;
  const first = positionOf(terms, term);
  for (let at = first; at < Math.min(terms.length, first + prefixTermsMax); at += 1) {
    const found = terms[at] ?? '';
    if (!found.startsWith(term)) break;
    if (found !== term) note(postings.get(found) ?? [], prefixQualityOf(term, found));
  }
  return matched;
}

/** How well a word names a service. Names are no part of what is indexed, so typos are judged here. */
export function matchName(nameTerms: readonly string[], { term }: Word): number {
  let best = 0;
  for (const word of nameTerms) {
    if (word === term) return nameWeight;
    const begins =
      term.length >= prefixMin && word.startsWith(term) ? prefixQualityOf(term, word) : 0;
    best = Math.max(best, begins, misspeltQuality(term, word));
  }
  return best * nameWeight;
}

/** The first of the ordered words that is not before this one. */
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

function prefixQualityOf(term: string, found: string): number {
  return prefixQuality * Math.sqrt(term.length / found.length);
}

const longWord = 8;

/** How likely one word is another with a slip in it: a letter, two in long words, or two swapped. */
export function misspeltQuality(term: string, word: string): number {
  const most = slipsMax(term);
  if (most === 0 || term === word || Math.abs(term.length - word.length) > most) return 0;
  const slips = distance(term, word);
  if (slips > most) return 0;
  if (slips === 1 || isSwap(term, word)) return 0.6;
  return term.length >= longWord ? 0.4 : 0;
}

/** Edits after which another word can still have been meant. Two swapped letters are two. */
export function slipsMax(term: string): number {
  if (term.length < 4) return 0;
  return term.length < 5 ? 1 : 2;
}

function isSwap(term: string, word: string): boolean {
  const sorted = (text: string) => Array.from(text).toSorted().join('');
  return term.length === word.length && sorted(term) === sorted(word);
}
