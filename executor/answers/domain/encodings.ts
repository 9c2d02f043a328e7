const hexOf = (code: number, digits: number) => code.toString(16).padStart(digits, '0');

/**
 * The shortest base64 text to look for. A shorter one would be found in unrelated texts by chance.
 */
const base64LengthMin = 6;

/**
 * Encoded forms of a value, with a quick test for the texts that may contain them. A text that
 * fails the test is not searched for these forms.
 */
interface EncodingGroup {
  readonly mayBeIn: (text: string) => boolean;
  readonly encode: () => string[];
}

/**
 * Four bytes as pairs of hex digits with one separator between them. Requires four because a time
 * of day (12:34:56) has three such pairs.
 */
const spacedHex = /[0-9a-f]{2}([ :-]|\\x)[0-9a-f]{2}(?:\1[0-9a-f]{2}){2}/i;

/**
 * The ways in which echo endpoints, error pages and logs write a value: as it is, in JSON, HTML and
 * URLs, as base64 at any offset, as hex, escaped character by character, and as the bytes of other
 * charsets. The value must have at least four characters.
 */
export function encodingGroups(value: string): EncodingGroup[] {
  const bytes = Buffer.from(value, 'utf8');
  const base64Length = base64LengthOf(bytes.length);
  return [
    { mayBeIn: () => true, encode: () => [value, bytes.toString('latin1')] },
    {
      mayBeIn: (text) => holdsBase64Run(text, 2 * bytes.length),
      encode: () => [bytes.toString('hex'), bytes.toString('hex').toUpperCase()],
    },
    {
      mayBeIn: (text) => holdsBase64Run(text, base64Length),
      encode: () => base64Encodings(bytes),
    },
    // The value in UTF-16, each byte read as one character.
    { mayBeIn: (text) => text.includes('\0'), encode: () => [Array.from(value).join('\0')] },
    {
      mayBeIn: (text) => text.includes('\\'),
      encode: () => [
        ...jsonEncodings(value),
        ...base64Encodings(bytes).map((text) => text.replaceAll('/', '\\/')),
      ],
    },
    {
      mayBeIn: (text) => /[%+]/.test(text),
      encode: () => [
        ...urlEncodings(value, bytes),
        ...base64Encodings(bytes).flatMap(percentEncodeBase64),
      ],
    },
    { mayBeIn: (text) => text.includes('&'), encode: () => htmlEncodings(value) },
    { mayBeIn: (text) => spacedHex.test(text), encode: () => hexEncodings(bytes) },
  ];
}

export function encodings(value: string): string[] {
  return encodingGroups(value).flatMap(({ encode }) => encode());
}

/**
 * The value in both base64 alphabets, at each of the three offsets that it can have in a base64
 * group of three bytes.
 */
export function base64Encodings(bytes: Buffer): string[] {
  const cores = [0, 1, 2].flatMap((offset) => base64CoresAt(bytes, offset));
  return [...cores, ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))];
}

/**
 * The base64 characters that the value alone determines when it starts `offset` bytes into a group
 * of three bytes. The characters at its edges also depend on the neighbouring bytes.
 */
function base64CoresAt(bytes: Buffer, offset: number): string[] {
  const paddedBytes = Buffer.concat([Buffer.alloc(offset), bytes]);
  const text = paddedBytes.toString('base64').replace(/=+$/, '');
  const coreStart = Math.ceil((offset * 8) / 6);
  const coreEnd = Math.floor((paddedBytes.length * 8) / 6);
  const core = text.slice(coreStart, coreEnd);
  return core.length >= base64LengthMin ? [core] : [];
}

/** The length of the value's shortest base64 form. */
function base64LengthOf(bytes: number): number {
  const lengths = [0, 1, 2].map(
    (offset) => Math.floor(((offset + bytes) * 8) / 6) - Math.ceil((offset * 8) / 6),
  );
  return Math.max(base64LengthMin, Math.min(...lengths));
}

/** Whether the text contains a run of at least `length` base64 characters. Hex digits count. */
function holdsBase64Run(text: string, length: number): boolean {
  for (let end = length - 1; end < text.length;) {
    let index = end;
    while (index > end - length && base64CodeTable[text.charCodeAt(index)] === 1) index -= 1;
    if (index === end - length) return true;
    // No run of `length` characters can include this character, so the next run ends at least
    // `length` characters after it.
    end = index + length;
  }
  return false;
}

const base64CodeTable = new Uint8Array(128);
for (const each of Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_',
)) {
  base64CodeTable[each] = 1;
}

function percentEncodeBase64(base64: string): string[] {
  const upper = base64.replaceAll('+', '%2B').replaceAll('/', '%2F');
  return [upper, upper.replaceAll('%2B', '%2b').replaceAll('%2F', '%2f')];
}

function jsonEncodings(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const toUnicodeEscape = (each: string) => `\\u${hexOf(each.charCodeAt(0), 4)}`;
  const asciiJson = inJson.replace(/[^\0-\x7f]/g, toUnicodeEscape);
  // Go, Rails, PHP and Django write JSON with these escapes, so that it is safe inside HTML.
  const htmlSafeForms = [inJson, asciiJson].flatMap((text) => {
    const htmlSafeJson = text.replace(/[<>&']/g, toUnicodeEscape);
    return [
      htmlSafeJson,
      htmlSafeJson.replace(/\\u00[0-9a-f]{2}/g, (each) => `\\u${each.slice(2).toUpperCase()}`),
    ];
  });
  const codeUnits = Array.from({ length: value.length }, (_, at) => value.charCodeAt(at));
  const escaped = codeUnits.map((code) => `\\u${hexOf(code, 4)}`).join('');
  return [
    inJson,
    inJson.replaceAll('/', '\\/'),
    asciiJson,
    asciiJson.replaceAll('/', '\\/'),
    ...htmlSafeForms,
    ...htmlSafeForms.map((text) => text.replaceAll('/', '\\/')),
    JSON.stringify(inJson).slice(1, -1),
    escaped,
    escaped.toUpperCase().replaceAll('\\U', '\\u'),
  ];
}

function urlEncodings(value: string, bytes: Buffer): string[] {
  const url = encodeURIComponent(value.toWellFormed());
  const percentEncode = (text: string) => `%${hexOf(text.charCodeAt(0), 2).toUpperCase()}`;
  const strictlyEncoded = url.replace(/[!'()*]/g, percentEncode);
  const formEncoded = strictlyEncoded.replace(/[~]/g, percentEncode).replaceAll('%20', '+');
  const lowerCaseTriplets = (text: string) =>
    text.replace(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase());
  const fullyEncoded = [...bytes].map((byte) => `%${hexOf(byte, 2)}`).join('');
  const forms = [url, strictlyEncoded, formEncoded, encodeURI(value.toWellFormed())];
  return [
    ...forms,
    ...forms.map(lowerCaseTriplets),
    fullyEncoded,
    fullyEncoded.toUpperCase(),
    encodeURIComponent(url),
    encodeURIComponent(strictlyEncoded),
  ];
}

const entityTables = [
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#x27;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;', '/': '&#x2F;' },
  { '&': '&amp;', '<': '&lt;', '>': '&gt;' },
] as const satisfies Record<string, string>[];

function htmlEncodings(value: string): string[] {
  const codes = Array.from(value).map((each) => each.codePointAt(0) ?? 0);
  return [
    ...entityTables.map((entityTable: Record<string, string>) =>
      value.replace(/[&<>"'/]/g, (each) => entityTable[each] ?? each),
    ),
    codes.map((code) => `&#${code};`).join(''),
    codes.map((code) => `&#x${code.toString(16)};`).join(''),
    codes.map((code) => `&#x${code.toString(16).toUpperCase()};`).join(''),
  ];
}

function hexEncodings(bytes: Buffer): string[] {
  const pairs = [...bytes].map((byte) => hexOf(byte, 2));
  const lowerCaseForms = [' ', ':', '-', '\\x'].map((joiner) => pairs.join(joiner));
  return [
    ...lowerCaseForms,
    ...lowerCaseForms.map((text) => text.toUpperCase().replaceAll('\\X', '\\x')),
  ];
}
