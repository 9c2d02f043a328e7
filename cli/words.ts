/**
 * Makes untrusted text safe to print on a terminal, where its control characters could otherwise
 * take effect.
 */
export function makePrintable(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ');
}

/** Quotes one word of a command that a person will copy into a shell. */
export function quoteForShell(word: string): string {
  return /^[\w.:/@~+-]+$/.test(word) ? word : `'${word.replaceAll(`'`, `'\\''`)}'`;
}
