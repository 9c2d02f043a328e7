import type { DerivedKey } from '#contracts/permit';
import { scopeLimits } from '#contracts/scope-param';
import { encodeArgument, unknownPosition, wholeAction } from '#permission-key';
import { decodePercents, plainPartOf } from '#templates';

/**
 * The form in which arguments of calls and of deny rules are compared: Unicode NFC, small letters,
 * and no blanks around each part between slashes, which are encoded within a position.
 */
export function foldArgument(argument: string): string {
  return trimParts(foldLetters(argument));
}

/** The forms of an argument of a call: also the one with its blanks, which a rule may write. */
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
 * Removes differences of Unicode form and letter case. Letters and signs that a path may encode
 * (RFC 3986 §3.3) are decoded. Capital and small letters do not map one to one (`ẞ`, `ß`, `SS`), so
 * the text is lowered, raised and lowered again; a small sigma has another form at the end of a word.
 */
function foldLetters(argument: string): string {
  const text = argument.includes('%')
    ? argument.replaceAll(encodedLetters, decodeTriplets)
    : argument;
  // To sort a long run of combining marks takes time that grows with its square.
  if (asciiOnly.test(text) || tooManyMarks.test(text)) return text.toLowerCase();
  const lowerCaseText = text.normalize('NFC').toLowerCase().toUpperCase().toLowerCase();
  return lowerCaseText.normalize('NFC').replaceAll('ς', 'σ');
}

const encodedLetters = /(?:%[89A-Fa-f][0-9A-Fa-f])+|%(?:2[146-9BbCc]|3[ADad]|40)/g;

/** Bytes that are not UTF-8 hold no letters. */
function decodeTriplets(triplets: string): string {
  const text = decodePercents(triplets);
  return text.includes('\ufffd') ? triplets : text;
}

/** Removes blanks and control characters at both ends, also those that keys and paths encode. */
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

/** The length of the blank in this piece of text: one character, or a percent triplet. */
function blankLength(piece: string, at: number): number {
  if (/^%(?:[01][0-9a-f]|20)$/.test(piece)) return 3;
  return /^[\s\u0085]$/.test(piece.charAt(at)) ? 1 : 0;
}

/**
 * The arguments that deny rules are compared with, for the permission keys of one action call: the
 * argument of each key, and the elements where an argument is a list. A `*` is a position whose value
 * is unknown. Undefined when the call may have any argument.
 */
export function argumentsOfKeys(keys: readonly DerivedKey[]): readonly string[] | undefined {
  if (keys.some(({ arg }) => arg === wholeAction)) return undefined;
  return keys.flatMap(({ arg }) => elementsOf(arg));
}

/** A list in one of several positions leaves that position unknown. */
function elementsOf(arg: string): string[] {
  const list = arg.startsWith('[') ? parseList(arg) : undefined;
  if (list !== undefined) return [arg, ...list.map(encodeElement).flatMap(withRounded)];
  const positions = arg.split('/');
  // A key has few positions. More slashes are those of one value, such as a path.
  if (positions.length > scopeLimits.positions) return withRounded(arg);
  const isList = (text: string) => text.startsWith('[') && parseList(text) !== undefined;
  return positions.some(isList)
    ? [positions.map((each) => (isList(each) ? unknownPosition : each)).join('/')]
    : withRounded(arg);
}

/** A fraction of more digits than a double holds is also the number that most servers read. */
function withRounded(arg: string): string[] {
  const positions = arg
    .split('/')
    .map((each) => (longFraction.test(each) ? roundNumber(each) : each));
  return [...new Set([arg, positions.join('/')])];
}

const longFraction = /^-?\d{1,400}\.\d{15,400}$|^-?\d{15,400}\.\d{1,400}$/;

function roundNumber(text: string): string {
  const number = Number(text);
  // `String` writes both zeros as `0`.
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
 * the end. A path that is not in plain form may be any path below its segments that are.
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
