const vowel = /[aeiouy]/;
const doubledConsonant = /(?:bb|dd|gg|mm|nn|pp|rr|tt)$/;
/** Words in which the ending is no inflection. */
const uninflectedWords = new Set([
  'thing',
  'anything',
  'something',
  'nothing',
  'everything',
  'string',
  'bring',
]);

/**
 * Removes the inflection of an English word, so that `schedule`, `schedules`, `scheduled` and
 * `scheduling` are one word. Derivations stay apart: `merger` is not `merge`. The stem need not be a
 * word, because queries and indexes hold only stems.
 */
export function stemOf(word: string): string {
  if (word.length < 4 || /\d/.test(word) || uninflectedWords.has(word)) return word;
  return stripSilentE(stripVerbEnding(singularOf(word)));
}

/** Removes the s of a plural: `issues` becomes `issue`, but `status` and `address` stay. */
function singularOf(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (/(?:ss|x|ch|sh)es$/.test(word)) return word.slice(0, -2);
  if (word.endsWith('s') && !/(?:ss|us|is|ics)$/.test(word)) return word.slice(0, -1);
  return word;
}

function stripVerbEnding(word: string): string {
  if (word.length > 4 && word.endsWith('ied')) return `${word.slice(0, -3)}y`;
  const ending = /(?:ing|ed)$/.exec(word)?.[0];
  if (ending === undefined) return word;
  const stem = word.slice(0, -ending.length);
  // `need`, `feed` and `sing` have no ending, and `bed` no stem.
  if (stem.length < 3 || stem.endsWith('e') || !vowel.test(stem)) return word;
  return doubledConsonant.test(stem) ? stem.slice(0, -1) : stem;
}

function stripSilentE(word: string): string {
  return word.length > 4 && word.endsWith('e') ? word.slice(0, -1) : word;
}
