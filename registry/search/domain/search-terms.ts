import { otherProducts } from './other-products.ts';
import { stemOf } from './search-stem.ts';

/**
 * Splits text or an identifier into words without their inflections: `createIssue`,
 * `create_issues` and `Creating issues` give the same two words.
 */
export function termsOf(text: string): string[] {
  return wordsOf(text).map(stemOf);
}

/** Splits text or an identifier into lower-case words. */
export function wordsOf(text: string): string[] {
  return text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, '$1 $2')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/['’](?:s|t|re|ve|ll|d|m)\b/gu, ' ')
    .replaceAll(/(?<!\p{L})(e|to)-(?=mail|do)/gu, '$1')
    .replaceAll(verbWithParticle, joinPhrasalVerb)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && word.length <= wordCharactersMax);
}

/**
 * Verbs that mean something else with a particle. `sign in`, `signed in` and `sign-in` become one
 * word.
 */
const phrasalVerbs = new Set('log sign roll set back opt follow shut'.split(' ').map(stemOf));
const verbWithParticle = /(\p{L}+)[\s_-](in|out|up|off|on|back|down|over)(?!\p{L})/gu;

function joinPhrasalVerb(text: string, verb: string, particle: string): string {
  const stem = stemOf(verb);
  return phrasalVerbs.has(stem) ? `${stem}${particle}` : text;
}

/**
 * Longer words are not indexed: they are not natural language, and would only enlarge the index.
 */
const wordCharactersMax = 40;
const queryTermsMax = 16;

/** The words that hold a sentence together and say nothing about what the user searches for. */
const fillerWords = new Set(
  `a an the this that these those of to in into onto on off for from with by at as about than then
   and or but so if because while
   i me my mine we us our ours you your it its he him his she her they them their one ones
   is am are was were be been being do does did has have had having
   can could will would shall should may might must let lets
   please want need like just really still also too again very quite some any all each every both
   how what which when where why there here now not no nor
   hi hey hello ok okay thanks thank give know see look going
   right yet ever already actually maybe kindly quickly`
    .split(/\s+/)
    .map(stemOf),
);

/** Phrases such as `show me`, which say what to do with the answer and not what to search for. */
const askingPhrasePattern = /\b(?:show|tell|give|get|let|help) (?:me|us)\b/gi;

/**
 * Words that say when, how many or somebody. They match, but say little about what is searched for:
 * `tomorrow` is in questions about meetings and in questions about the weather.
 */
const lightWords = new Set(
  `monday tuesday wednesday thursday friday saturday sunday today tonight tomorrow yesterday morning
   afternoon evening night noon midnight second minute hour day week weekend month quarter year
   january february march april june july august september october november december
   last next past previous since ago before after until soon later early late current currently
   one two three four five six seven eight nine ten twelve twenty hundred thousand half first third
   many much more most few several lot
   people person someone somebody anyone anybody everyone everybody nobody guy folk thing stuff new`
    .split(/\s+/)
    .map(stemOf),
);

export function isLightWord(term: string): boolean {
  return lightWords.has(term) || /^\p{N}+$/u.test(term);
}

/** The distinct words of a query. Filler words are removed unless the query has no other words. */
export function queryTermsOf(query: string): string[] {
  // A product's name stays one word: `ServiceNow` is not about a service.
  const searchedText = query
    .replaceAll(askingPhrasePattern, ' ')
    .replaceAll(/[\p{L}\p{N}]+/gu, (word) =>
      otherProducts.has(stemOf(word.toLowerCase())) ? word.toLowerCase() : word,
    );
  const distinctTerms = [...new Set(termsOf(searchedText))];
  const meaningfulTerms = distinctTerms.filter((term) => !fillerWords.has(term));
  return (meaningfulTerms.length === 0 ? distinctTerms : meaningfulTerms).slice(0, queryTermsMax);
}

/** Groups of words that mean the same in the names of API operations. */
const synonymGroups = [
  'create add new make insert register post open',
  'delete remove destroy erase drop',
  'list find search query lookup show view',
  'get read fetch retrieve show view',
  'list get',
  'update edit modify change patch set put',
  'send deliver dispatch',
  'start run trigger execute launch',
  'stop cancel abort',
  'email mail',
  'message msg',
  'repository repo',
  'person people user member',
  'colleague coworker teammate',
  'document doc file',
  'folder directory',
  'picture image photo',
  'ticket issue',
  'customer client',
  'company organization org',
  'meeting appointment event',
  'bill invoice',
].map((group) => group.split(' ').map(stemOf));
const synonymsByWord = new Map<string, string[]>();
for (const group of synonymGroups) {
  for (const word of group) {
    const others = group.filter((other) => other !== word);
    synonymsByWord.set(word, [...(synonymsByWord.get(word) ?? []), ...others]);
  }
}

export function synonymsOf(term: string): readonly string[] {
  return synonymsByWord.get(term) ?? [];
}
