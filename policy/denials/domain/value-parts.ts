import { domainToASCII, domainToUnicode } from 'node:url';

/**
 * The texts that servers may read in a text: the text itself, the items of a list, mail addresses,
 * paths, a URL, and what stands after the word `tel:` or the like.
 */
export function partsOf(text: string): string[] {
  const texts = [text];
  // Some servers decode a text twice.
  if (/%[0-9A-Fa-f]{2}/.test(text)) {
    texts.push(text.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, decodePercents));
  }
  const plainTexts = texts.map(toPlainSigns).filter((plain) => !texts.includes(plain));
  return [...texts, ...plainTexts].flatMap(findTextParts);
}

/** The text with full-width and small signs (`＠`, `，`) as the plain ones, which some servers read. */
function toPlainSigns(text: string): string {
  return text.replaceAll(/[\uff01-\uff5e\ufe50-\ufe6b\ufe10-\ufe16\u3001\uff64]/g, (sign) =>
    sign === '\u3001' || sign === '\uff64' ? ',' : sign.normalize('NFKC'),
  );
}

/**
 * Splits a list that is written as one text. NUL also separates items, because C libraries end a
 * text at NUL.
 */
export function splitText(text: string): string[] {
  return text
    .split(/[,;|\r\n\0]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Decodes percent triplets that are UTF-8; leaves others unchanged. */
export function decodePercents(triplets: string): string {
  try {
    return decodeURIComponent(triplets);
  } catch {
    return triplets;
  }
}

function findTextParts(text: string): string[] {
  const parts = splitText(text);
  const allTexts = parts.length > 1 || parts[0] !== text.trim() ? [text, ...parts] : [text];
  return [
    ...addressesIn(text),
    ...withBracketedParts(allTexts),
    ...allTexts.flatMap(withoutScheme),
    ...allTexts.flatMap(normalPathsOf),
    ...urlIn(text),
  ];
}

/** The text after a word that says how to reach it, such as `whatsapp:`, `tel:` or `mailto:`. */
function withoutScheme(text: string): string[] {
  const [scheme] = /^\s*[A-Za-z][A-Za-z0-9+.-]{0,30}:(?=[^/\s])/.exec(text) ?? [];
  return scheme === undefined ? [] : [text.slice(scheme.length)];
}

function withBracketedParts(allTexts: readonly string[]): string[] {
  return allTexts.flatMap((part) => {
    const [start, end] = [part.lastIndexOf('<'), part.lastIndexOf('>')];
    return start >= 0 && start < end ? [part, part.slice(start + 1, end)] : [part];
  });
}

/**
 * The mail addresses in a text, which may contain groups, comments and quotes (RFC 5322 §3.4), such
 * as `Team: "bob"@b.example (hi), …;`.
 */
function addressesIn(text: string): string[] {
  if (!text.includes('@')) return [];
  const joinedText = stripComments(text)
    .replaceAll(/["\\]/g, '')
    .split('@')
    .map((part) => part.trim())
    .join('@');
  return [text, joinedText].flatMap((each) =>
    each
      .split(/[\s<>,;:|"'()[\]{}?]+/)
      .filter((part) => part.includes('@'))
      .flatMap((part) => mailboxesOf(part.replace(/\.$/, ''))),
  );
}

/** The text without its comments, which may be nested. */
function stripComments(text: string): string {
  let [kept, depth] = ['', 0];
  for (const character of text) {
    if (character === '(') depth += 1;
    else if (character === ')' && depth > 0) depth -= 1;
    else if (depth === 0) kept += character;
  }
  return kept;
}

/**
 * Other addresses of the mailbox: without its detail (`+x` in `bob+x`, RFC 5233), with both forms
 * of its domain (RFC 5890), and where it routes to (RFC 5321 §F.2).
 */
function mailboxesOf(address: string): string[] {
  const atIndex = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, atIndex), address.slice(atIndex + 1)];
  const localParts = [local, local.replace(/(?<=.)\+.*$/, '')];
  const asciiDomain = /[^\0-\x7f]|xn--/i.test(domain) ? domainToASCII(domain) : '';
  const routed = localParts.flatMap(routedAddressesIn);
  const domains =
    asciiDomain === '' ? [domain] : [domain, asciiDomain, domainToUnicode(asciiDomain)];
  const addresses = domains.flatMap((each) => localParts.map((name) => `${name}@${each}`));
  return [...new Set([...addresses, ...routed])];
}

/** The addresses to which some servers send on: `bob%b.example@…` and `b.example!bob@…`. */
function routedAddressesIn(local: string): string[] {
  const percentIndex = local.lastIndexOf('%');
  const names = local.split('!');
  const [domain, name] = [names.at(-2), names.at(-1)];
  return [
    ...(percentIndex < 0
      ? []
      : [`${local.slice(0, percentIndex)}@${local.slice(percentIndex + 1)}`]),
    ...(domain === undefined ? [] : [`${name}@${domain}`]),
  ];
}

/**
 * The path without what file systems ignore (`//`, `.`, `..`, slashes at its ends), and with `/`
 * instead of `\`.
 */
function normalPathsOf(text: string): string[] {
  if (!/\\|\/\/|^\/|\/$|(?:^|\/)\.\.?(?:\/|$)/.test(text)) return [];
  const segments: string[] = [];
  for (const segment of text.split(/[/\\]/)) {
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  }
  return segments.length === 0 ? [] : [segments.join('/')];
}

/** The URL as browsers and servers read it, without user name and password. */
function urlIn(text: string): string[] {
  const url = /^\s*https?:/i.test(text) ? URL.parse(text) : null;
  if (url === null) return [];
  url.username = '';
  url.password = '';
  url.hostname = url.hostname.replace(/\.$/, '');
  return [url.href, url.href.replace(/\/$/, '')];
}
