const hexOf = (code: number, digits: number) => code.toString(16).padStart(digits, '0');

/** The least of a base64 text that is looked for: shorter ones are in any text by chance. */
const base64LengthMin = 6;

/** Spellings that only certain texts can hold; most texts hold none of most of them. */
interface SpellingGroup {
  readonly mayBeIn: (text: string) => boolean;
  readonly spell: () => string[];
}

/** Four bytes as pairs of hex digits with one and the same thing between them; times of day have three. */
const spacedHex = /[0-9a-f]{2}([ :-]|\\x)[0-9a-f]{2}(?:\1[0-9a-f]{2}){2}/i;

/**
 * How echo endpoints, error pages and logs write a value: as it is and inside JSON, HTML and URLs, as
 * base64 at any offset, as hex, escaped character by character, as the bytes of other charsets.
 * The value has four characters or more.
 */
export function spellingGroups(value: string): SpellingGroup[] {
  const bytes = Buffer.from(value, 'utf8');
  const base64Length = base64LengthOf(bytes.length);
  return [
    { mayBeIn: () => true, spell: () => [value, bytes.toString('latin1')] },
    {
      mayBeIn: (text) => holdsWord(text, 2 * bytes.length),
      spell: () => [bytes.toString('hex'), bytes.toString('hex').toUpperCase()],
    },
    {
      mayBeIn: (text) => holdsWord(text, base64Length),
      spell: () => base64Spellings(bytes),
    },
    // UTF-16 that was read byte by byte.
    { mayBeIn: (text) => text.includes('\0'), spell: () => [Array.from(value).join('\0')] },
    {
      mayBeIn: (text) => text.includes('\\'),
      spell: () => [
        ...jsonSpellings(value),
        ...base64Spellings(bytes).map((text) => text.replaceAll('/', '\\/')),
      ],
    },
    {
      mayBeIn: (text) => /[%+]/.test(text),
      spell: () => [...urlSpellings(value, bytes), ...base64Spellings(bytes).flatMap(inUrl)],
    },
    { mayBeIn: (text) => text.includes('&'), spell: () => htmlSpellings(value) },
    { mayBeIn: (text) => spacedHex.test(text), spell: () => hexSpellings(bytes) },
  ];
}

export function spellings(value: string): string[] {
  return spellingGroups(value).flatMap(({ spell }) => spell());
}

/** Base64 in both alphabets, as one starts at each offset into a group of three bytes. */
export function base64Spellings(bytes: Buffer): string[] {
  const cores = [0, 1, 2].flatMap((offset) => base64At(bytes, offset));
  return [...cores, ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** The characters that base64 makes of the value alone when it starts `offset` bytes into a group of three. */
function base64At(bytes: Buffer, offset: number): string[] {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
  const text = padded.toString('base64').replace(/=+$/, '');
  const from = Math.ceil((offset * 8) / 6);
  const to = Math.floor((padded.length * 8) / 6);
  const core = text.slice(from, to);
  return core.length >= base64LengthMin ? [core] : [];
}

/** How long the shortest of a value's base64 spellings is. */
function base64LengthOf(bytes: number): number {
  const lengths = [0, 1, 2].map(
    (offset) => Math.floor(((offset + bytes) * 8) / 6) - Math.ceil((offset * 8) / 6),
  );
  return Math.max(base64LengthMin, Math.min(...lengths));
}

/** Whether so many characters of base64, hex included, stand side by side in a text. */
function holdsWord(text: string, length: number): boolean {
  for (let end = length - 1; end < text.length;) {
    let at = end;
    while (at > end - length && isOfBase64[text.charCodeAt(at)] === 1) at -= 1;
    if (at === end - length) return true;
    // No word of that length goes over this character: the next may end so much later.
    end = at + length;
  }
  return false;
}

const isOfBase64 = new Uint8Array(128);
for (const each of Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_',
)) {
  isOfBase64[each] = 1;
}

function inUrl(base64: string): string[] {
  const upper = base64.replaceAll('+', '%2B').replaceAll('/', '%2F');
  return [upper, upper.replaceAll('%2B', '%2b').replaceAll('%2F', '%2f')];
}

function jsonSpellings(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const escape = (each: string) => `\\u${hexOf(each.charCodeAt(0), 4)}`;
  const ascii = inJson.replace(/[^\0-\x7f]/g, escape);
  // As Go and Rails write it, and as PHP and Django do, so that it can stand in HTML.
  const forHtml = [inJson, ascii].flatMap((text) => {
    const safe = text.replace(/[<>&']/g, escape);
    return [safe, safe.replace(/\\u00[0-9a-f]{2}/g, (each) => `\\u${each.slice(2).toUpperCase()}`)];
  });
  const units = Array.from({ length: value.length }, (_, at) => value.charCodeAt(at));
  const escaped = units.map((code) => `\\u${hexOf(code, 4)}`).join('');
  return [
    inJson,
    inJson.replaceAll('/', '\\/'),
    ascii,
    ascii.replaceAll('/', '\\/'),
    ...forHtml,
    ...forHtml.map((text) => text.replaceAll('/', '\\/')),
    JSON.stringify(inJson).slice(1, -1),
    escaped,
    escaped.toUpperCase().replaceAll('\\U', '\\u'),
  ];
}

function urlSpellings(value: string, bytes: Buffer): string[] {
  const url = encodeURIComponent(value.toWellFormed());
  const percent = (text: string) => `%${hexOf(text.charCodeAt(0), 2).toUpperCase()}`;
  const strict = url.replace(/[!'()*]/g, percent);
  const form = strict.replace(/[~]/g, percent).replaceAll('%20', '+');
  const inLowerCase = (text: string) =>
    text.replace(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase());
  const all = [...bytes].map((byte) => `%${hexOf(byte, 2)}`).join('');
  const forms = [url, strict, form, encodeURI(value.toWellFormed())];
  return [
    ...forms,
    ...forms.map(inLowerCase),
    all,
    all.toUpperCase(),
    encodeURIComponent(url),
    encodeURIComponent(strict),
  ];
}

const entities = [
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#x27;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;', '/': '&#x2F;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;' },
] as const satisfies Record<string, string>[];

function htmlSpellings(value: string): string[] {
  const codes = Array.from(value).map((each) => each.codePointAt(0) ?? 0);
  return [
    ...entities.map((table: Record<string, string>) =>
      value.replace(/[&<>"'/]/g, (each) => table[each] ?? each),
    ),
    codes.map((code) => `&#${code};`).join(''),
    codes.map((code) => `&#x${code.toString(16)};`).join(''),
    codes.map((code) => `&#x${code.toString(16).toUpperCase()};`).join(''),
  ];
}

function hexSpellings(bytes: Buffer): string[] {
  const pairs = [...bytes].map((byte) => hexOf(byte, 2));
  const lower = [' ', ':', '-', '\\x'].map((between) => pairs.join(between));
  return [...lower, ...lower.map((text) => text.toUpperCase().replaceAll('\\X', '\\x'))];
}
