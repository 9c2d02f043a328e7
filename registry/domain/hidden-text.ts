import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from './context.ts';

/**
 * Characters that a person does not see, or that turn the text around them about: controls, format
 * characters (zero width, bidirectional, tags), separators, private use, fillers, and variation
 * selectors but for the one that makes a sign an emoji. Line feeds and tabs are seen.
 */
const hidden = new RegExp(
  [
    String.raw`[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]`,
    String.raw`[\u{FE00}-\u{FE0E}]`,
    String.raw`(?<!\p{Extended_Pictographic})\u{FE0F}`,
    String.raw`[\u{E0100}-\u{E01EF}]`,
    String.raw`\u{34F}|\u{115F}|\u{1160}|\u{3164}|\u{FFA0}`,
  ].join('|'),
  'gu',
);

/** Text of a stranger as it may be shown: what would be hidden is spelled out, as `\u{200B}`. */
export function visible(text: string): string {
  return text.replace(hidden, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`,
  );
}

export function hasHidden(text: string): boolean {
  return visible(text) !== text;
}

/** The same for every text of a value, names included. */
export function visibleJson(value: JsonValue): JsonValue {
  if (typeof value === 'string') return visible(value);
  if (Array.isArray(value)) return value.map(visibleJson);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [visible(key), visibleJson(each)]),
  );
}
