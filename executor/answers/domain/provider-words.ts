import { failureMessageCharactersMax } from '#contracts/failure';
import type { JsonValue } from '#contracts/vocabulary';
import { visibleLine } from '#templates';

/**
 * The members in which providers write what went wrong, the most specific first: OAuth (RFC 6749
 * §5.2), problem details (RFC 9457), and what the built-in services use.
 */
const messageMembers = [
  'message',
  'error_description',
  'detail',
  'description',
  'error_message',
  'errorMessages',
  'errorMessage',
  'error_summary',
  'error',
  'errors',
  'msg',
  'reason',
  'title',
  'fault',
] as const;
const depthMax = 5;
/** How many characters of a text body are searched. */
const textCharactersMax = 4_096;

/**
 * The sentence in which a provider says what went wrong, as one line of plain text. Undefined when
 * the body has none.
 */
export function findProviderWords(body: JsonValue, contentType: string): string | undefined {
  const words =
    typeof body === 'string' ? wordsOfText(body, contentType) : findWordsIn(body, depthMax);
  return words === undefined ? undefined : toPlainLine(words);
}

/** One line without hidden characters, short enough for a message. */
export function toPlainLine(text: string): string | undefined {
  const line = visibleLine(text.slice(0, textCharactersMax).replaceAll(/\s+/g, ' ').trim());
  return line === '' ? undefined : line.slice(0, failureMessageCharactersMax).toWellFormed();
}

function wordsOfText(text: string, contentType: string): string | undefined {
  const start = text.slice(0, textCharactersMax);
  if (!/html/i.test(contentType) && !/^\s*</.test(start)) return start;
  const words = /<message>([^<]{1,500})</i.exec(start)?.[1];
  if (words !== undefined) return words;
  // An HTML page is written for browsers; its title is enough as a message.
  return /<title[^<>]{0,200}>([^<]{1,500})/i.exec(start)?.[1];
}

function findWordsIn(value: JsonValue | undefined, depth: number): string | undefined {
  if (typeof value === 'string') return value.trim() === '' ? undefined : value;
  if (value === null || typeof value !== 'object' || depth === 0) return undefined;
  if (Array.isArray(value)) return findWordsIn(value[0], depth - 1);
  for (const name of messageMembers) {
    const words = Object.hasOwn(value, name) ? findWordsIn(value[name], depth - 1) : undefined;
    if (words !== undefined) return words;
  }
  const [entry, ...others] = Object.entries(value);
  if (entry === undefined) return undefined;
  const [field, inner] = entry;
  if (depth === depthMax) {
    // When the only member of the body is another object, the search goes on in that object.
    const isWrapper = others.length === 0 && typeof inner === 'object';
    return isWrapper ? findWordsIn(inner, depth - 1) : undefined;
  }
  // Providers report invalid fields by name, such as `{"errors": {"summary": "is required"}}`.
  const words = findWordsIn(inner, depth - 1);
  return words === undefined ? undefined : `${field}: ${words}`;
}
