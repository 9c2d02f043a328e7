import { buildsEmoji, hiddenCharacters } from '#hidden-characters';

const inText = new RegExp(String.raw`[\p{Cc}\p{Cs}${hiddenCharacters}]`, 'gu');
/** Most texts are nothing else. */
const plain = /^[\x20-\x7e]*$/;
/** Line breaks and tabs show themselves by the layout. */
const kept = new Set(['\n', '\t']);

/** A text of somebody else on one line: what would be hidden, or break the line, is spelled out. */
export function visibleLine(text: string): string {
  return plain.test(text) ? text : text.replace(inText, escape);
}

/** The same of a text of several lines. What builds an emoji stays, between what it builds it of. */
export function visibleText(given: string): string {
  if (plain.test(given)) return given;
  const text = given.replaceAll('\r\n', '\n');
  return text.replace(inText, (character, at: number) =>
    kept.has(character) || buildsEmoji(text, character, at) ? character : escape(character),
  );
}

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** People choose their names elsewhere: nothing in one may hide, or turn the sentence around it about. */
export function shownName(name: string): string {
  return visibleLine(name).slice(0, 200);
}
