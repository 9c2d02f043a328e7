/**
 * Without `%` and `!`, which some servers use for routing (`bob%evil.example@acme.example`, RFC
 * 5321 F.2).
 */
const atomPattern = "[A-Za-z0-9#$&'*+/=?^_`{|}~-]+";
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const addressPattern = new RegExp(
  `^(${atomPattern}(?:\\.${atomPattern})*)@(${label}(?:\\.${label})*)$`,
);
/**
 * A display name before `<address>`. It holds none of the characters by which a server could find
 * another address or a list in it.
 */
const namePattern = /^(?:"([^"\\@,;:<>()[\]\p{Cc}]*)"|([^"\\@,;:<>()[\]\p{Cc}]*))$/u;
/** The beginning of an encoded word (RFC 2047), which some servers decode in any position. */
const encodedWordStart = '=?';
const localCharactersMax = 64;
const charactersMax = 254;

export interface MailAddress {
  /** The addr-spec in the spelling in which it was given. */
  readonly address: string;
  /** The display name without quotes; empty when there is none. */
  readonly name: string;
}

/**
 * The one mail address (addr-spec, RFC 5322 §3.4.1, without quotes and comments) that the text
 * stands for. Undefined for lists, groups, and everything that two servers could read differently.
 * Permission keys and composed messages are both made from what this returns, so that a message
 * goes to the recipients of its keys.
 */
export function readMailAddress(text: string): MailAddress | undefined {
  const { name, address } = splitName(text) ?? { name: '', address: text };
  const [, local = ''] = addressPattern.exec(address) ?? [];
  if (local === '' || local.length > localCharactersMax || address.length > charactersMax) {
    return undefined;
  }
  if (text.includes(encodedWordStart)) return undefined;
  return { address, name };
}

/** Divides `Ann <ann@example.com>`; undefined for any other form. Takes time linear in the text. */
function splitName(text: string): MailAddress | undefined {
  const trimmed = text.trim();
  const start = trimmed.lastIndexOf('<');
  if (start < 0 || !trimmed.endsWith('>')) return undefined;
  const [found, quoted, plain = ''] = namePattern.exec(trimmed.slice(0, start).trim()) ?? [];
  if (found === undefined) return undefined;
  // Some servers read a full-width `＠` or `，` as the plain one.
  if (!namePattern.test((quoted ?? plain).normalize('NFKC'))) return undefined;
  return { name: (quoted ?? plain).trim(), address: trimmed.slice(start + 1, -1) };
}
