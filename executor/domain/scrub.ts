import type { JsonValue } from '#contracts/vocabulary';
import { base64Spellings, spellingGroups, spellings } from './spellings.ts';

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
  if (parts.length === 0) return { text: (same) => same, json: (same) => same };
  const needlesFor = createNeedles(parts);
  const text = (original: string) => {
    let clean = original;
    for (const needle of needlesFor(original))
      if (clean.includes(needle)) clean = clean.replaceAll(needle, marker);
    return unfold(clean, parts);
  };
  const json = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : marker;
    if (Array.isArray(value)) return value.map(json);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [text(key), json(each)]));
  };
  return { text, json };
}

/** The spellings that a text could hold at all, made when they are first looked for. */
function createNeedles(parts: readonly string[]): (text: string) => readonly string[] {
  const groups = parts.flatMap((part) => spellingGroups(part));
  const made = new Map<string, readonly string[]>();
  return (text) => {
    const wanted = groups.filter(({ mayBeIn }) => mayBeIn(text));
    const key = groups.map((group) => (wanted.includes(group) ? '1' : '0')).join('');
    let needles = made.get(key);
    if (needles === undefined) {
      const all = wanted.flatMap(({ spell }) => spell());
      needles = longestFirst(all.filter((needle) => needle.length >= lengthMin));
      made.set(key, needles);
    }
    return needles;
  };
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
function unfold(text: string, parts: readonly string[]): string {
  if (!/[\r\n]|\\[rn]/.test(text)) return text;
  const squeezed = text.replace(lineBreaks, '');
  const cores = parts.flatMap((part) => base64Spellings(Buffer.from(part, 'utf8')));
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
