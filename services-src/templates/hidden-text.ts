import { isPartOfEmoji, hiddenCharacters } from '#hidden-characters';

const hiddenPattern = new RegExp(String.raw`[\p{Cc}\p{Cs}${hiddenCharacters}]`, 'gu');
/** Fast path: most texts consist of visible ASCII characters only. */
const plainTextPattern = /^[\x20-\x7e]*$/;
/** Line breaks and tabs are visible in the layout. */
const keptCharacters = new Set(['\n', '\t']);

/**
 * Makes one line of an untrusted text: hidden characters and line breaks are written as escapes.
 */
export function toVisibleLine(text: string): string {
  return plainTextPattern.test(text) ? text : text.replace(hiddenPattern, escapeCharacter);
}

/**
 * Makes the hidden characters of an untrusted text visible as escapes, and keeps its lines. Joiners
 * inside an emoji stay.
 */
export function toVisibleText(givenText: string): string {
  if (plainTextPattern.test(givenText)) return givenText;
  const text = givenText.replaceAll('\r\n', '\n');
  return text.replace(hiddenPattern, (character, index: number) =>
    keptCharacters.has(character) || isPartOfEmoji(text, character, index)
      ? character
      : escapeCharacter(character),
  );
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/**
 * A person's name, which untrusted systems may supply: it must not hide characters or reorder the
 * sentence around it.
 */
export function toShownName(name: string): string {
  return toVisibleLine(name).slice(0, 200);
}
