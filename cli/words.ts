/** What goes to a terminal: others' words must not move its cursor, or worse. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ');
}

/** One word of a command that a person is to copy into a shell. */
export function shellWord(word: string): string {
  return /^[\w.:/@~+-]+$/.test(word) ? word : `'${word.replaceAll(`'`, `'\\''`)}'`;
}
