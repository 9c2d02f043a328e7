import type { DerivedKey } from '#contracts/permit';
import { scopeLimits } from '#contracts/scope-param';
import { encodeArgument, unknownPosition, wholeAction } from '#permission-key';
import { decodePercents, plainPartOf } from '#templates';

/**
 * The form in which the arguments of calls and of deny rules are compared: Unicode NFC, small
 * letters, and no blanks at the ends of each part between slashes. Slashes within a position are
 * encoded.
 */
export function foldArgument(argument: string): string {
  return trimParts(foldLetters(argument));
}

/**
 * The forms in which a call's argument is compared. One form keeps the blanks, because a rule may
 * contain them.
 */
export function foldedFormsOf(argument: string): string[] {
  const folded = foldLetters(argument);
  return [...new Set([folded, trimParts(folded)])];
}

function trimParts(folded: string): string {
  return folded
    .split(/(\/|%2f)/)
    .map(trimBlanks)
    .join('');
}

// oxlint-disable-next-line no-control-regex -- only ASCII has one form
const asciiOnly = /^[\u0000-\u007f]*$/;
/** More combining marks in a row than any language needs (UAX #15, Stream-Safe Text Format). */
const tooManyMarks = /\p{M}{31}/u;

/**
 * Removes differences of Unicode form and letter case. Decodes letters and signs that a path may
 * encode (RFC 3986 §3.3). Capital and small letters do not map one to one (`ẞ`, `ß`, `SS`), so the
 * text is converted to lower, upper and lower case again. A small sigma has another form at the end
 * of a word.
 */
function foldLetters(argument: string): string {
  const text = argument.includes('%')
    ? argument.replaceAll(encodedLetters, decodeTriplets)
    : argument;
  // Normalising a long run of combining marks takes time that grows with the square of its length.
  if (asciiOnly.test(text) || tooManyMarks.test(text)) return text.toLowerCase();
  const lowerCaseText = text.normalize('NFC').toLowerCase().toUpperCase().toLowerCase();
  return lowerCaseText.normalize('NFC').replaceAll('ς', 'σ');
}

const encodedLetters = /(?:%[89A-Fa-f][0-9A-Fa-f])+|%(?:2[146-9BbCc]|3[ADad]|40)/g;

/** Bytes that are not valid UTF-8 contain no letters. */
function decodeTriplets(triplets: string): string {
  const text = decodePercents(triplets);
  return text.includes('\ufffd') ? triplets : text;
}

/** Removes blanks and control characters at both ends, also when they are percent-encoded. */
function trimBlanks(part: string): string {
  let [start, end] = [0, part.length];
  for (let length = 1; length > 0; start += length) {
    length = blankLength(part.slice(start, Math.min(start + 3, end)), 0);
  }
  for (let length = 1; length > 0; end -= length) {
    const tail = part.slice(Math.max(start, end - 3), end);
    length = blankLength(tail, tail.length - 1);
  }
  return part.slice(start, end);
}

/**
 * The length of the blank at this place in the text: one character, or a percent triplet. Zero if
 * there is no blank.
 */
function blankLength(piece: string, at: number): number {
  if (/^%(?:[01][0-9a-f]|20)$/.test(piece)) return 3;
  return /^[\s\u0085]$/.test(piece.charAt(at)) ? 1 : 0;
}

/**
 * The arguments of one action call that deny rules are compared with: the argument of each
 * permission key, and the elements of each argument that is a list. A `*` is a position whose value
 * is unknown. Undefined when the call may have any argument.
 */
export function argumentsOfKeys(keys: readonly DerivedKey[]): readonly string[] | undefined {
  if (keys.some(({ arg }) => arg === wholeAction)) return undefined;
  return keys.flatMap(({ arg }) => elementsOf(arg));
}

/** If one of several positions contains a list, that position is unknown. */
function elementsOf(arg: string): string[] {
  const list = arg.startsWith('[') ? parseList(arg) : undefined;
  if (list !== undefined) return [arg, ...list.map(encodeElement).flatMap(withRounded)];
  const positions = arg.split('/');
  // A key has few positions. If there are more slashes, they belong to one value, such as a path.
  if (positions.length > scopeLimits.positions) return withRounded(arg);
  const isList = (text: string) => text.startsWith('[') && parseList(text) !== undefined;
  return positions.some(isList)
    ? [positions.map((each) => (isList(each) ? unknownPosition : each)).join('/')]
    : withRounded(arg);
}

/**
 * A number with more decimals than a double holds is compared in its rounded form too, because most
 * servers read the rounded number.
 */
function withRounded(arg: string): string[] {
  const positions = arg
    .split('/')
    .map((each) => (longFraction.test(each) ? roundNumber(each) : each));
  return [...new Set([arg, positions.join('/')])];
}

const longFraction = /^-?\d{1,400}\.\d{15,400}$|^-?\d{15,400}\.\d{1,400}$/;

function roundNumber(text: string): string {
  const number = Number(text);
  // `String` converts both `0` and `-0` to `0`.
  return Number.isFinite(number) ? String(number) : text;
}

function parseList(arg: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(decodeURIComponent(arg));
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // Text that merely begins like a list.
  }
}

function encodeElement(element: unknown): string {
  return encodeArgument(typeof element === 'string' ? element : JSON.stringify(element));
}

/**
 * The arguments by which `http` deny rules match a request: its address with and without a slash at
 * the end. If the path is not in plain form, its leading plain segments are kept and anything may
 * follow.
 */
export function addressArguments(address: string): readonly string[] {
  const hostEnd = address.indexOf('/');
  const [host, path] = [address.slice(0, hostEnd), address.slice(hostEnd)];
  if (hostEnd < 0) return [address];
  const plainPart = plainPartOf(path);
  if (plainPart === '') return [`${host}/**`];
  if (plainPart !== path) return [host + plainPart, `${host}${plainPart}/**`];
  return path.endsWith('/') ? [address, address.slice(0, -1)] : [address, `${address}/`];
}
