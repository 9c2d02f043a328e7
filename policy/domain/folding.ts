import { identifierIn, leadingNumberIn } from './identifiers.ts';

/**
 * An argument as deny rules compare it. People write a rule in one spelling, and upstreams read
 * several as the same thing, so that rule and argument are folded alike before they are compared.
 */
export interface Folded {
  /** One form of each Unicode text (NFKC), without regard to letter case or to invisible characters. */
  readonly cased: string;
  /** The same without `.git`, blanks and signs (`#general`) at the ends of its segments, except next to a wildcard. */
  readonly bare: string;
  /** The number or UUID that it spells, in one spelling. */
  readonly identifier: string | undefined;
  /** The number that it begins with. */
  readonly leadingNumber: string | undefined;
}

export function fold(text: string): Folded {
  const cased = foldCase(text);
  const bare = hasTrimmings.test(cased) ? cased.split('/').map(trim).join('/') : cased;
  return {
    cased,
    bare,
    identifier: identifierIn(bare),
    leadingNumber: leadingNumberIn(bare),
  };
}

/** Most arguments have none of these, and are compared in one form. */
// oxlint-disable-next-line no-control-regex -- only ASCII has one form
const isAscii = /^[\u0000-\u007f]*$/;
/** Invisible characters, which many servers drop. */
const ignorable = /\p{Default_Ignorable_Code_Point}/gu;
/** NFKC would make wildcards of these, which no derived text may hold. */
const asterisks = /[\uff0a\ufe61]/g;
const hasTrimmings = /[\s\u0085#@~]|\.git|%(?:[01][0-9a-f]|20|7f)/;
const suffix = '.git';

/**
 * Capitals and small letters are not one to one (`ẞ`, `ß`, `SS`): down, up and down again reaches one
 * of them. A small sigma has a form of its own at the end of a word.
 */
function foldCase(text: string): string {
  const plain = text.includes('%') ? decodeLetters(text) : text;
  if (isAscii.test(plain)) return plain.toLowerCase();
  const compatible = plain.replaceAll(asterisks, '%2a').replaceAll(ignorable, '').normalize('NFKC');
  const small = compatible.toLowerCase().toUpperCase().toLowerCase();
  return small.normalize('NFKC').replaceAll('ς', 'σ');
}

/**
 * In the path of an `http` key letters outside ASCII are written as percent triplets, and sub-delimiters,
 * `:` and `@` may be (RFC 3986 §3.3): upstreams read `bob%40b.example` as `bob@b.example`.
 */
function decodeLetters(text: string): string {
  return text.replaceAll(encodedLetters, (triplets) => {
    try {
      return decodeURIComponent(triplets);
    } catch {
      return triplets; // Not UTF-8: no letters.
    }
  });
}

const encodedLetters = /(?:%[89A-Fa-f][0-9A-Fa-f])+|%(?:2[146-9BbCc]|3[ABDabd]|40)/g;

function trim(segment: string): string {
  let [start, end] = [0, segment.length];
  for (let length = 1; length > 0; start += length) length = blankAfter(segment, start, end);
  for (let length = 1; length > 0; end -= length) length = blankBefore(segment, start, end);
  if (/[#@~]/.test(segment.charAt(start)) && end - start > 1) start += 1;
  if (segment[start] === '*') start = 0;
  if (segment[end - 1] === '*') end = segment.length;
  const trimmed = segment.slice(start, end);
  const isRepository = trimmed.endsWith(suffix) && trimmed.length > suffix.length;
  return isRepository && trimmed.at(-suffix.length - 1) !== '*'
    ? trimmed.slice(0, -suffix.length)
    : trimmed;
}

/** Libraries differ in which control characters they trim with the blanks. */
const encodedBlank = /^%(?:[01][0-9a-f]|20|7f)$/;

function blankAfter(text: string, start: number, end: number): number {
  if (start >= end) return 0;
  if (/[\s\u0085]/.test(text.charAt(start))) return 1;
  return encodedBlank.test(text.slice(start, Math.min(start + 3, end))) ? 3 : 0;
}

function blankBefore(text: string, start: number, end: number): number {
  if (start >= end) return 0;
  if (/[\s\u0085]/.test(text.charAt(end - 1))) return 1;
  return encodedBlank.test(text.slice(Math.max(start, end - 3), end)) ? 3 : 0;
}
