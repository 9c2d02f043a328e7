import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';

/**
 * Characters that a reader cannot see, or that reorder the text around them: controls, format
 * characters (zero width, bidirectional, tags), separators, private use, fillers, and all variation
 * selectors except the one that turns a character into an emoji. Line feeds and tabs stay, because
 * readers see them.
 */
const hiddenCharacters = new RegExp(
  [
    String.raw`[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]`,
    String.raw`[\u{FE00}-\u{FE0E}]`,
    String.raw`(?<!\p{Extended_Pictographic})\u{FE0F}`,
    String.raw`[\u{E0100}-\u{E01EF}]`,
    String.raw`\u{34F}|\u{115F}|\u{1160}|\u{3164}|\u{FFA0}`,
  ].join('|'),
  'gu',
);

/**
 * Makes untrusted text safe to show: each hidden character becomes its code, such as `\\u{200B}`.
 */
export function escapeHidden(text: string): string {
  return text.replace(hiddenCharacters, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`,
  );
}

export function hasHiddenCharacter(text: string): boolean {
  return escapeHidden(text) !== text;
}

/** Makes all strings of a value safe to show, and the names of its properties. */
export function escapeHiddenInJson(value: JsonValue): JsonValue {
  if (typeof value === 'string') return escapeHidden(value);
  if (Array.isArray(value)) return value.map(escapeHiddenInJson);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [escapeHidden(key), escapeHiddenInJson(each)]),
  );
}
