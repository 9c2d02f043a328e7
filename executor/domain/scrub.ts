import type { JsonValue } from '#contracts/vocabulary';

export const marker = '[REDACTED]';
/** Shorter values would turn half of an answer into markers, and protect nothing. */
const lengthMin = 4;

export interface Scrubber {
  text(text: string): string;
  /** Also finds what was written with JSON escapes. Gives back the same value when nothing was found. */
  json(value: JsonValue): JsonValue;
}

/**
 * Removes injected values from what an upstream sends back, in the spellings in which echo
 * endpoints and error pages repeat them: raw, JSON-escaped, base64 and base64url at any offset,
 * URL-encoded, hex.
 */
export function createScrubber(values: readonly string[]): Scrubber {
  const needles = longestFirst(spellingsOf(values));
  const text = (original: string) => {
    let clean = original;
    for (const needle of needles)
      if (clean.includes(needle)) clean = clean.replaceAll(needle, marker);
    return clean;
  };
  const json = (value: JsonValue): JsonValue => {
    if (typeof value === 'string') return text(value);
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

function spellings(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8');
  const base64 = [0, 1, 2].flatMap((offset) => base64At(bytes, offset));
  const hex = bytes.toString('hex');
  const url = encodeURIComponent(value.toWellFormed());
  const strictUrl = url.replace(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    bytes.toString('latin1'),
    ...base64,
    ...base64.map((each) => each.replaceAll('+', '-').replaceAll('/', '_')),
    hex,
    hex.toUpperCase(),
    url,
    strictUrl,
    strictUrl.replace(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase()),
    strictUrl.replaceAll('%20', '+'),
  ].filter((each) => each.length >= lengthMin);
}

/** The characters that base64 makes of the value alone when it starts `offset` bytes into a group of three. */
function base64At(bytes: Buffer, offset: number): string[] {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
  const text = padded.toString('base64').replace(/=+$/, '');
  const from = Math.ceil((offset * 8) / 6);
  const to = Math.floor((padded.length * 8) / 6);
  const core = text.slice(from, to);
  return core.length >= 6 ? [core] : [];
}
