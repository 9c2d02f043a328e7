import { encodeLookalikeAsterisks, isWildcardAt } from '#permission-key';
import { identifierIn, leadingNumberIn } from './identifiers.ts';

/**
 * The forms of an argument that are compared with deny rules. People write a value in one way, and
 * upstreams accept several ways, so the rule and the argument are converted to these forms alike
 * (folded).
 */
export interface Folded {
  /**
   * The text in Unicode normal form (NFKC), without differences in letter case and without
   * invisible characters.
   */
  readonly cased: string;
  /**
   * The form `cased`, also without `.git`, blanks and signs (`#general`) at the ends of its
   * segments, except beside a wildcard.
   */
  readonly bare: string;
  /** The number or UUID that the text denotes, in one fixed form. */
  readonly identifier: string | undefined;
  /** The number with which the text begins. */
  readonly leadingNumber: string | undefined;
}

export function foldText(text: string): Folded {
  const casedText = foldCase(text);
  const bare = trimmablePart.test(casedText)
    ? casedText.split('/').map(trimBlanks).join('/')
    : casedText;
  return {
    cased: casedText,
    bare,
    identifier: identifierIn(bare),
    leadingNumber: leadingNumberIn(bare),
  };
}

// oxlint-disable-next-line no-control-regex -- only ASCII has one form
const asciiOnly = /^[\u0000-\u007f]*$/;
/**
 * The most combining marks in a row that normal forms are made of (UAX #15, Stream-Safe Text
 * Format). No language needs more, and to sort a run takes time that grows with its square.
 */
const marksMax = 30;
/** The half-width sound marks are no combining marks, but become such in the normal form. */
const mark = String.raw`\p{M}\uff9e\uff9f`;
const fullRun = new RegExp(`[${mark}]{${marksMax}}`, 'gu');
const tooLongRun = new RegExp(
  String.raw`[${mark}\p{Default_Ignorable_Code_Point}]{${marksMax + 1}}`,
  'u',
);
/** U+034F, which ends a run of combining marks and is itself invisible. */
const graphemeJoiner = '\u034f';

/** Whether the text has so many combining marks in a row that it is not compared with others. */
export function hasTooManyMarks(text: string): boolean {
  return tooLongRun.test(text);
}

/** The normal form (NFKC), in which a longer run of combining marks is several runs. */
function normaliseText(text: string): string {
  const divided = text.replaceAll(fullRun, `$&${graphemeJoiner}`);
  return divided.normalize('NFKC').replaceAll(graphemeJoiner, '');
}

/** Invisible characters, which many servers drop. */
const invisibleCharacters = /\p{Default_Ignorable_Code_Point}/gu;
const trimmablePart = /[\s\u0085#@~]|\.git|%(?:[01][0-9a-f]|20|7f)/;
const repositorySuffix = '.git';

/**
 * Removes differences in letter case. Capital and small letters do not map one to one (`ẞ`, `ß`,
 * `SS`), so the text is lowered, raised and lowered again. A small sigma has another form at the
 * end of a word.
 */
function foldCase(text: string): string {
  const decodedText = text.includes('%') ? decodeLetters(text) : text;
  if (asciiOnly.test(decodedText)) return decodedText.toLowerCase();
  const compatible = normaliseText(
    encodeLookalikeAsterisks(decodedText).replaceAll(invisibleCharacters, ''),
  );
  const lowerCaseText = compatible.toLowerCase().toUpperCase().toLowerCase();
  return normaliseText(lowerCaseText).replaceAll('ς', 'σ');
}

/**
 * Decodes letters outside ASCII, sub-delimiters, `:` and `@`. The path of an `http` permission key
 * may encode these (RFC 3986 §3.3), and upstreams read `bob%40b.example` as `bob@b.example`.
 */
function decodeLetters(text: string): string {
  return text.replaceAll(encodedLetters, (triplets) => {
    try {
      return decodeURIComponent(triplets);
    } catch {
      return triplets; // These bytes are not UTF-8, so they hold no letters.
    }
  });
}

const encodedLetters = /(?:%[89A-Fa-f][0-9A-Fa-f])+|%(?:2[146-9BbCc]|3[ABDabd]|40)/g;

function trimBlanks(segment: string): string {
  let [start, end] = [0, segment.length];
  for (let length = 1; length > 0; start += length) length = blankLengthAfter(segment, start, end);
  for (let length = 1; length > 0; end -= length) length = blankLengthBefore(segment, start, end);
  if (/[#@~]/.test(segment.charAt(start)) && end - start > 1) start += 1;
  if (isWildcardAt(segment, start)) start = 0;
  if (isWildcardAt(segment, end - 1)) end = segment.length;
  const trimmed = segment.slice(start, end);
  const isRepository =
    trimmed.endsWith(repositorySuffix) && trimmed.length > repositorySuffix.length;
  return isRepository && !isWildcardAt(trimmed, trimmed.length - repositorySuffix.length - 1)
    ? trimmed.slice(0, -repositorySuffix.length)
    : trimmed;
}

/** Control characters count as blanks too, because libraries differ in which of them they trim. */
const encodedBlank = /^%(?:[01][0-9a-f]|20|7f)$/;

function blankLengthAfter(text: string, start: number, end: number): number {
  if (start >= end) return 0;
  if (/[\s\u0085]/.test(text.charAt(start))) return 1;
  return encodedBlank.test(text.slice(start, Math.min(start + 3, end))) ? 3 : 0;
}

function blankLengthBefore(text: string, start: number, end: number): number {
  if (start >= end) return 0;
  if (/[\s\u0085]/.test(text.charAt(end - 1))) return 1;
  return encodedBlank.test(text.slice(Math.max(start, end - 3), end)) ? 3 : 0;
}
