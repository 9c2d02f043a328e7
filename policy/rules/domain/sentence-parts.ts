import { withHiddenEncoded } from '#permission-key';
import { shownName } from '#templates';

const sentenceCharactersMax = 500;
const valueCharactersMax = 120;

/**
 * The name of a parameter in words: `issueKey` and `issue_key` become `issue key`. For an id, the
 * name of the thing that has the id.
 */
export function nameOfParam(name: string): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/[_.-]+/g, ' ');
  return (
    words
      .toLowerCase()
      .replace(/^id /, '')
      .replace(/ (?:g?id|key)$/, '') || 'value'
  );
}

const plainValue = /^[\p{L}\p{N}\p{M}._/@:#+~%$&=?*-]+$/u;
const plainName = /^[\p{L}\p{N}\p{M}._@' -]+$/u;

/** A value from a key. It is put in quotes if it could be read as part of the sentence. */
export function valueWords(text: string): string {
  const shown = cutValue(withHiddenEncoded(text));
  return plainValue.test(shown.replace(/…$/, '')) ? shown : quote(shown);
}

export function nameWords(name: string): string {
  const shown = cutValue(shownName(name));
  return plainName.test(shown.replace(/…$/, '')) ? shown : quote(shown);
}

export function quote(text: string): string {
  return `“${text.replaceAll(/[“”]/g, '"')}”`;
}

export function cutValue(text: string): string {
  return text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax)}…` : text;
}

export function cutSentence(text: string): string {
  return text.length > sentenceCharactersMax
    ? `${text.slice(0, sentenceCharactersMax - 1)}…`
    : `${text}.`.slice(0, sentenceCharactersMax);
}

/**
 * `Create issue` as it is written in the middle of a sentence. Words in capital letters stay as
 * they are.
 */
export function lowerFirst(text: string): string {
  return /^\p{Lu}(?:\p{Ll}|\s)/u.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

export function toMinute(timestamp: string): string {
  const at = new Date(timestamp);
  const [hours, minutes] = [at.getUTCHours(), at.getUTCMinutes()].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${at.getUTCDate()} ${months[at.getUTCMonth()]} ${at.getUTCFullYear()}, ${hours}:${minutes} UTC`;
}
