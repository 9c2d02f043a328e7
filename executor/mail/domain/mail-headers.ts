import { encode } from '#templates';
import type { MailAddress } from '#templates';

/**
 * Headers of a message (RFC 5322) in ASCII: other characters are encoded words (RFC 2047), and
 * extended parameters (RFC 2231) in names of files. All values were checked by `readMail`.
 */

/**
 * A line with this many encoded bytes, `=?UTF-8?B?`, `?=` and the longest header name has at most
 * 76 characters.
 */
const wordBytesMax = 39;
/** A text of this length fits on one line after the longest header name. */
const plainCharactersMax = 60;
/** The most characters of one part of an extended parameter. */
const sectionCharactersMax = 54;

export function textHeader(name: string, text: string): string {
  return `${name}: ${isPlain(text) ? text : encodedWords(text)}`;
}

/** A header with one address per line. Empty when there are no addresses. */
export function addressHeaders(name: string, addresses: readonly MailAddress[]): string[] {
  return listHeaders(name, addresses.map(mailbox), ',');
}

/** A header with one Message-ID per line. Empty when there are no ids. */
export function messageIdHeaders(name: string, ids: readonly string[]): string[] {
  return listHeaders(name, ids, '');
}

function listHeaders(name: string, items: readonly string[], separator: string): string[] {
  return items.length === 0 ? [] : [`${name}: ${items.join(`${separator}\r\n `)}`];
}

function mailbox({ address, name }: MailAddress): string {
  if (name === '') return address;
  return isPlain(name) ? `"${name}" <${address}>` : `${encodedWords(name)}\r\n <${address}>`;
}

/**
 * Whether a reader of the header gets exactly this text. A text that looks like an encoded word is
 * encoded, because readers would decode it to another text.
 */
function isPlain(text: string): boolean {
  return (
    text.length <= plainCharactersMax &&
    /^(?! )[\x20-\x7e]*(?<! )$/.test(text) &&
    !text.includes('=?')
  );
}

function encodedWords(text: string): string {
  const words: string[] = [];
  let word = '';
  for (const character of text) {
    if (Buffer.byteLength(word) + Buffer.byteLength(character) > wordBytesMax) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word]
    .map((each) => `=?UTF-8?B?${Buffer.from(each).toString('base64')}?=`)
    .join('\r\n ');
}

/** The `Content-Disposition` of an attachment. */
export function attachmentHeader(filename: string): string {
  const disposition = 'Content-Disposition: attachment;\r\n ';
  if (isPlain(filename) && !/["\\]/.test(filename)) return `${disposition}filename="${filename}"`;
  const text = `UTF-8''${encode(filename, 'attachments.filename')}`;
  // The pattern never splits a triplet such as %C3.
  const sections = text.match(new RegExp(`(?:%..|[^%]){1,${sectionCharactersMax / 3}}`, 'g')) ?? [];
  if (sections.length === 1) return `${disposition}filename*=${text}`;
  return disposition + sections.map((each, at) => `filename*${at}*=${each}`).join(';\r\n ');
}
