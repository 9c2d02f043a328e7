import type { CallResult } from '#contracts/call';
import type { JsonValue } from '#contracts/vocabulary';
import type { Scrubber } from './scrub.ts';

/** What arrived of an answer; without a body when it was cut off or broke. */
export interface Received {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array | null;
  /** Why the body is not (wholly) there. */
  readonly lost: 'too_large' | 'incomplete' | null;
  /** The body, where it is larger than what fits into an answer; `body` is null then. */
  readonly stream?: AsyncIterable<Uint8Array> | null;
}

export interface ShapedBody {
  readonly body: JsonValue;
  /** The JSON text a filter may read; undefined when the answer is not JSON. */
  readonly jsonText?: string;
  readonly omitted?: NonNullable<CallResult['body_omitted']>;
  /** It is to be kept as a file; whether its bytes are a text. */
  readonly file?: { readonly isText: boolean };
}

/** Deeper JSON is handed on as text: others would run out of stack on it. */
const depthMax = 128;
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'set-cookie',
  'set-cookie2',
]);

/** No header holds it (RFC 9110 §5.5), so it ends whatever could be a value. */
const betweenHeaders = '\u0001';

/** Headers as the caller gets them: names in lower case, repeated ones joined, no cookies, no credentials. */
export function shapeHeaders(
  headers: Received['headers'],
  scrubber: Scrubber,
): Record<string, string> {
  const joined = new Map<string, string>();
  for (const [name, value] of headers) {
    const lowerCaseName = name.toLowerCase();
    if (hopByHop.has(lowerCaseName)) continue;
    const known = joined.get(lowerCaseName);
    joined.set(lowerCaseName, known === undefined ? value : `${known}, ${value}`);
  }
  // What is in none of them is in their sum no less: one look at most answers.
  const all = [...joined].flat().join(betweenHeaders);
  if (scrubber.text(all) === all) return Object.fromEntries(joined);
  return Object.fromEntries(
    [...joined].map(([name, value]) => [scrubber.text(name), scrubber.text(value)]),
  );
}

/**
 * JSON when the upstream sent JSON, else text. Bytes that are neither become a file, never lossy text
 * (docs/reference/calling.md#bodies).
 */
export function shapeBody(
  { body, lost, ...received }: Received,
  { contentType, binary, scrubber }: { contentType: string; binary: boolean; scrubber: Scrubber },
): ShapedBody {
  if (lost !== null) {
    const omitted = omission(lost, { headers: received.headers, contentType });
    return { body: null, omitted };
  }
  const isEmpty = !received.stream && (body === null || body.length === 0);
  if (!isEmpty && isEncoded(received.headers)) {
    return { body: null, omitted: omission('encoded', { headers: received.headers, contentType }) };
  }
  const isText = !binary && isTextual(contentType);
  if (received.stream) return { body: null, file: { isText } };
  if (body === null || body.length === 0) return { body: null };
  const decoded = binary ? undefined : decode(body, contentType);
  if (decoded === undefined) return { body: null, file: { isText } };
  const text = scrubber.text(decoded);
  const isJson =
    /^application\/(json|[a-z0-9.+-]+\+json)\s*(;|$)/i.test(contentType) || contentType === '';
  const parsed = isJson ? parseBoundedJson(text) : undefined;
  // A value hidden behind \u escapes shows only once they are undone.
  if (parsed !== undefined && !text.includes('\\')) return { body: parsed, jsonText: text };
  // A value that stood there as a bare number was taken out of the text, and the text is JSON no more.
  const whole = parsed ?? (isJson && text !== decoded ? parseBoundedJson(decoded) : undefined);
  if (whole === undefined) return { body: text };
  const clean = scrubber.json(whole);
  return { body: clean, jsonText: JSON.stringify(clean) };
}

/** In a coding that was not asked for: its bytes could hide anything, a credential too. */
function isEncoded(headers: Received['headers']): boolean {
  return headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'content-encoding' && !/^\s*(identity)?\s*$/i.test(value),
  );
}

/** Why a body is not there. `contentType` has been scrubbed. */
export function omission(
  reason: NonNullable<CallResult['body_omitted']>['reason'],
  { headers, contentType }: { headers: Received['headers']; contentType: string },
): NonNullable<CallResult['body_omitted']> {
  return { reason, content_type: contentType.slice(0, 200), size: announcedSize(headers) };
}

function announcedSize(headers: Received['headers']): number | null {
  const text = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const textual =
  /^(text\/|application\/(json|xml|javascript|ecmascript|x-www-form-urlencoded|yaml|x-yaml|x-ndjson|graphql|sql|toml|problem)|[a-z]+\/[a-z0-9.+-]+\+(json|xml|yaml))/i;

/** Whether a media type says text; one that is not given is taken for text. */
export function isTextual(contentType: string): boolean {
  return contentType === '' || textual.test(contentType);
}

function decode(body: Uint8Array, contentType: string): string | undefined {
  if (!isTextual(contentType)) return undefined;
  const charset =
    markedCharset(body) ??
    /;\s*charset="?([a-z0-9._:-]{1,40})"?/i.exec(contentType)?.[1] ??
    'utf-8';
  for (const label of new Set([charset, 'utf-8'])) {
    try {
      return new TextDecoder(label, { fatal: true }).decode(body);
    } catch {
      // An unknown charset, or bytes that are not in it: the next candidate, or no text at all.
    }
  }
  return undefined;
}

/** A byte order mark wins over what the header says (WHATWG Encoding §6): `utf-16` alone would be read as little-endian. */
function markedCharset(body: Uint8Array): string | undefined {
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be';
  return body[0] === 0xff && body[1] === 0xfe ? 'utf-16le' : undefined;
}

/** Undefined when it is not JSON, or nested beyond what every reader can take. */
export function parseBoundedJson(text: string): JsonValue | undefined {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined; // Says JSON, is not: then it is text.
  }
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return false;
}
