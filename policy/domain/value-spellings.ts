import { domainToASCII, domainToUnicode } from 'node:url';

/** What servers may take a text for: itself, the items of a list, mail addresses, paths and a URL in it. */
export function partsOf(text: string): string[] {
  if (!/%[0-9A-Fa-f]{2}/.test(text)) return textParts(text);
  // Some servers decode twice.
  return [text, text.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, decode)].flatMap(textParts);
}

/** A list of ids is one text; libraries in C end a text at a NUL. */
export function split(text: string): string[] {
  return text
    .split(/[,;|\r\n\0]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Triplets that are UTF-8 as what they stand for; others as they are. */
export function decode(triplets: string): string {
  try {
    return decodeURIComponent(triplets);
  } catch {
    return triplets;
  }
}

function textParts(text: string): string[] {
  const parts = split(text);
  const all = parts.length > 1 || parts[0] !== text.trim() ? [text, ...parts] : [text];
  return [...addressesIn(text), ...namedIn(all), ...all.flatMap(pathIn), ...urlIn(text)];
}

function namedIn(all: readonly string[]): string[] {
  return all.flatMap((part) => {
    const [start, end] = [part.lastIndexOf('<'), part.lastIndexOf('>')];
    return start >= 0 && start < end ? [part, part.slice(start + 1, end)] : [part];
  });
}

/**
 * The addresses in groups, comments and quotes (RFC 5322 §3.4: `Team: "bob"@b.example (hi), …;`), whatever
 * stands between them.
 */
function addressesIn(text: string): string[] {
  if (!text.includes('@')) return [];
  const joined = withoutComments(text)
    .replaceAll(/["\\]/g, '')
    .split('@')
    .map((part) => part.trim())
    .join('@');
  return [text, joined].flatMap((each) =>
    each
      .split(/[\s<>,;:|"'()[\]{}?]+/)
      .filter((part) => part.includes('@'))
      .flatMap((part) => mailboxesOf(part.replace(/\.$/, ''))),
  );
}

/** Comments may hold others. */
function withoutComments(text: string): string {
  let [kept, depth] = ['', 0];
  for (const character of text) {
    if (character === '(') depth += 1;
    else if (character === ')' && depth > 0) depth -= 1;
    else if (depth === 0) kept += character;
  }
  return kept;
}

/** What reaches the same mailbox: without its detail (`bob+x`, RFC 5233), its domain in both forms (RFC 5890). */
function mailboxesOf(address: string): string[] {
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  const locals = [local, local.replace(/(?<=.)\+.*$/, '')];
  const ascii = /[^\0-\x7f]|xn--/i.test(domain) ? domainToASCII(domain) : '';
  const domains = ascii === '' ? [domain] : [domain, ascii, domainToUnicode(ascii)];
  return [...new Set(domains.flatMap((each) => locals.map((name) => `${name}@${each}`)))];
}

/** A path without what file systems overlook: `//`, `.`, `..` and slashes at its ends, `\` for `/`. */
function pathIn(text: string): string[] {
  if (!/\\|\/\/|^\/|\/$|(?:^|\/)\.\.?(?:\/|$)/.test(text)) return [];
  const segments: string[] = [];
  for (const segment of text.split(/[/\\]/)) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return segments.length === 0 ? [] : [segments.join('/')];
}

/** A URL as browsers and fetching servers read it, without the user in it. */
function urlIn(text: string): string[] {
  const url = /^\s*https?:/i.test(text) ? URL.parse(text) : null;
  if (url === null) return [];
  url.username = '';
  url.password = '';
  url.hostname = url.hostname.replace(/\.$/, '');
  return [url.href, url.href.replace(/\/$/, '')];
}
