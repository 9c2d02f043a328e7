import type { JsonValue } from '#contracts/vocabulary';
import { base64Encodings, encodingGroups, encodings } from './encodings.ts';

export const redactionMarker = '[REDACTED]';
const lineBreakSource = String.raw`(?:[\r\n\t ]|\\[rnt])*`;
const lineBreakPattern = new RegExp(lineBreakSource, 'g');
/**
 * Shorter values are not removed: they occur so often by chance that markers would replace half of
 * an answer.
 */
const secretLengthMin = 4;

export interface Scrubber {
  text(text: string): string;
  /**
   * Also finds values written with JSON escapes or as numbers. The result equals the input when
   * nothing was found.
   */
  json(value: JsonValue): JsonValue;
}

/** Removes injected values from an upstream's answer, in every encoding of `encodings.ts`. */
export function createScrubber(values: readonly string[]): Scrubber {
  const parts = values.flatMap(secretPartsOf);
  if (parts.length === 0) return { text: (unchanged) => unchanged, json: (unchanged) => unchanged };
  const needlesFor = createNeedles(parts);
  const text = (original: string) => {
    let scrubbed = original;
    for (const needle of needlesFor(original))
      if (scrubbed.includes(needle)) scrubbed = scrubbed.replaceAll(needle, redactionMarker);
    return removeFoldedBase64(scrubbed, parts);
  };
  const json = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number')
      return text(String(value)) === String(value) ? value : redactionMarker;
    if (Array.isArray(value)) return value.map(json);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [text(key), json(each)]));
  };
  return { text, json };
}

/**
 * Returns the encoded forms that a given text can contain. The forms of a group are computed when a
 * text first needs them.
 */
function createNeedles(parts: readonly string[]): (text: string) => readonly string[] {
  const groups = parts.flatMap((part) => encodingGroups(part));
  const groupsByText = new Map<string, readonly string[]>();
  return (text) => {
    const possibleGroups = groups.filter(({ mayBeIn }) => mayBeIn(text));
    const key = groups.map((group) => (possibleGroups.includes(group) ? '1' : '0')).join('');
    let needles = groupsByText.get(key);
    if (needles === undefined) {
      const encodedForms = possibleGroups.flatMap(({ encode }) => encode());
      needles = sortLongestFirst(encodedForms.filter((needle) => needle.length >= secretLengthMin));
      groupsByText.set(key, needles);
    }
    return needles;
  };
}

/** All encoded forms in which a text may repeat the values. */
export function encodingsOf(values: readonly string[]): string[] {
  return values.flatMap(secretPartsOf).flatMap(encodings);
}

/**
 * Sorts longer forms first. Otherwise removing a short form that begins a longer one would leave
 * the end of the longer one in the text.
 */
export function sortLongestFirst(needles: readonly string[]): string[] {
  return [...new Set(needles)].toSorted((left, right) => right.length - left.length);
}

/**
 * The value, and those parts of it that are secret by themselves: in `user:password`, the password.
 */
export function secretPartsOf(value: string): string[] {
  const colon = value.indexOf(':');
  const parts = colon > 0 ? [value, value.slice(colon + 1)] : [value];
  return parts.filter((part) => part.length >= secretLengthMin);
}

/**
 * Removes the values in base64 that is folded into lines. Inside a JSON string the line feeds of
 * the fold are escaped.
 */
function removeFoldedBase64(text: string, parts: readonly string[]): string {
  if (!/[\r\n]|\\[rn]/.test(text)) return text;
  const textWithoutBreaks = text.replace(lineBreakPattern, '');
  const cores = parts.flatMap((part) => base64Encodings(Buffer.from(part, 'utf8')));
  let scrubbed = text;
  for (const core of cores) {
    if (!textWithoutBreaks.includes(core)) continue;
    const pattern = Array.from(core)
      .map((each) => RegExp.escape(each))
      .join(lineBreakSource);
    scrubbed = scrubbed.replace(new RegExp(pattern, 'g'), redactionMarker);
  }
  return scrubbed;
}
