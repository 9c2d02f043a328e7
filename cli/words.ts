import { hiddenCharacters } from '#hidden-characters';

const unprintable = new RegExp(String.raw`[\p{Cc}\p{Cs}${hiddenCharacters}]`, 'gu');
const unprintableInText = new RegExp(String.raw`(?![\n\t])[\p{Cc}\p{Cs}${hiddenCharacters}]`, 'gu');

/**
 * Makes untrusted text safe to print as part of one line on a terminal. A run of control characters
 * becomes a blank. Characters that are invisible or reorder text become code points (`\u202e`).
 */
export function makePrintable(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ').replaceAll(unprintable, spellCharacter);
}

/**
 * The same for text of several lines, such as JSON. Line ends and tabs stay; all other such
 * characters become code points.
 */
export function makePrintableText(text: string): string {
  return text.replaceAll(unprintableInText, spellCharacter);
}

/**
 * Puts text from a gateway or a service on one line of a message that has several lines. Its line
 * ends become code points, so that they cannot forge a line.
 */
export function spellLineEnds(text: string): string {
  return text.replaceAll(/[\n\v\f\r\u0085\u2028\u2029]/g, spellCharacter);
}

/** The character as UTF-16 escapes. JSON parsers read them as the character itself. */
function spellCharacter(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** Quotes one word of a command that a person will copy into a shell. */
export function quoteForShell(word: string): string {
  return /^[\w.:/@~+-]+$/.test(word) ? word : `'${word.replaceAll(`'`, `'\\''`)}'`;
}

/** Spells a command of this program with the options that the current command was given. */
export type SpellCommand = (...words: readonly string[]) => string;

/**
 * Spells a command of this program that a person can copy into a shell.
 *
 * @param options More options, by their names. The command does not have those that are undefined.
 */
export function spellCommand(
  words: readonly string[],
  options: Readonly<Record<string, string | undefined>> = {},
): string {
  const givenOptions = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [name, value],
  );
  return ['action-gateway', ...words, ...givenOptions].map(quoteForShell).join(' ');
}
