import type { JsonValue } from '#contracts/vocabulary';
import { base64Spellings, spellings } from './spellings.ts';

export const marker = '[REDACTED]';
const lineBreak = String.raw`(?:[\r\n\t ]|\\[rnt])*`;
const lineBreaks = new RegExp(lineBreak, 'g');
/** Shorter values would turn half of an answer into markers, and protect nothing. */
const lengthMin = 4;

export interface Scrubber {
  text(text: string): string;
  /** Also finds what was written with JSON escapes, or as a number. Gives back equal values when nothing was found. */
  json(value: JsonValue): JsonValue;
}

/** Removes injected values from what an upstream sends back, however it spells them (see `spellings`). */
export function createScrubber(values: readonly string[]): Scrubber {
  const parts = values.flatMap(secretParts);
  const needles = longestFirst(spellingsOf(values));
  const folded = parts.flatMap((part) => base64Spellings(Buffer.from(part, 'utf8')));
  const text = (original: string) => {
    let clean = original;
    for (const needle of needles)
      if (clean.includes(needle)) clean = clean.replaceAll(needle, marker);
    return unfold(clean, folded);
  };
  const json = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : marker;
    if (Array.isArray(value)) return value.map(json);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [text(key), json(each)]));
  };
  return needles.length === 0 ? { text: (same) => same, json: (same) => same } : { text, json };
}

/** Everything that a value may be repeated as in a text. */
export function spellingsOf(values: readonly string[]): string[] {
  return values.flatMap(secretParts).flatMap(spellings);
}

/** A longer needle is found before one that it begins with, so that nothing of it stays. */
export function longestFirst(needles: readonly string[]): string[] {
  return [...new Set(needles)].toSorted((left, right) => right.length - left.length);
}

/** For `user:password`, the password alone is as secret as both. */
export function secretParts(value: string): string[] {
  const colon = value.indexOf(':');
  const parts = colon > 0 ? [value, value.slice(colon + 1)] : [value];
  return parts.filter((part) => part.length >= lengthMin);
}

/** Base64 is often folded into lines, in a JSON string with escaped ones. */
function unfold(text: string, cores: readonly string[]): string {
  if (!/[\r\n]|\\[rn]/.test(text)) return text;
  const squeezed = text.replace(lineBreaks, '');
  let clean = text;
  for (const core of cores) {
    if (!squeezed.includes(core)) continue;
    const pattern = Array.from(core)
      .map((each) => RegExp.escape(each))
      .join(lineBreak);
    clean = clean.replace(new RegExp(pattern, 'g'), marker);
  }
  return clean;
}
