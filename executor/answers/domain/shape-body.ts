import type { CallResult } from '#contracts/call';
import type { JsonValue } from '#contracts/vocabulary';
import { parseExactJson } from '#exact-json';
import type { ExactJson } from '#exact-json';
import type { Scrubber } from './scrub.ts';

/**
 * The part of an upstream's answer that arrived. `body` is null when the connection broke or the
 * body was too large.
 */
export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array | null;
  /** Why the body is missing or incomplete. */
  readonly lost: 'too_large' | 'incomplete' | null;
  /**
   * The body as a stream, when it is too large to be part of a result. In that case `body` is null.
   */
  readonly stream?: AsyncIterable<Uint8Array> | null;
}

export interface ShapedBody {
  readonly body: JsonValue;
  /** The JSON text that a filter may read; undefined when the answer is not JSON. */
  readonly jsonText?: string;
  /** True when some numbers of the body are given as strings. */
  readonly hasNumbersAsText?: true;
  readonly omitted?: NonNullable<CallResult['body_omitted']>;
  /** Present when the body must be kept as a file. `isText` says whether its bytes are text. */
  readonly file?: { readonly isText: boolean };
}

/**
 * JSON nested deeper than this is passed on as text, because other parsers would overflow their
 * stack on it.
 */
const jsonDepthMax = 128;
const hopByHopHeaders = new Set([
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

/**
 * Joins the headers for the search. No header may contain this character (RFC 9110 §5.5), so a
 * match never begins in one header and ends in the next.
 */
const headerSeparator = '\u0001';

/**
 * Headers as the caller gets them: lower-case names, repeated headers joined, no cookies, no
 * credentials.
 */
export function shapeHeaders(
  headers: ReceivedAnswer['headers'],
  scrubber: Scrubber,
): Record<string, string> {
  const valuesByName = new Map<string, string>();
  for (const [name, value] of headers) {
    const lowerCaseName = name.toLowerCase();
    if (hopByHopHeaders.has(lowerCaseName)) continue;
    const earlierValue = valuesByName.get(lowerCaseName);
    valuesByName.set(
      lowerCaseName,
      earlierValue === undefined ? value : `${earlierValue}, ${value}`,
    );
  }
  // All headers are searched as one text first. Most answers contain no injected value, and then no
  // further search is needed.
  const joinedHeaders = [...valuesByName].flat().join(headerSeparator);
  if (scrubber.text(joinedHeaders) === joinedHeaders) return Object.fromEntries(valuesByName);
  return Object.fromEntries(
    [...valuesByName].map(([name, value]) => [scrubber.text(name), scrubber.text(value)]),
  );
}

/**
 * A JSON body becomes parsed JSON, and any other text becomes a string. Bytes that are not text
 * become a file, never a string with replaced characters (docs/reference/calling.md#bodies).
 */
export function shapeBody(
  { body, lost, ...received }: ReceivedAnswer,
  { contentType, binary, scrubber }: { contentType: string; binary: boolean; scrubber: Scrubber },
): ShapedBody {
  if (lost !== null) {
    const omittedBody = omittedBodyOf(lost, { headers: received.headers, contentType });
    return { body: null, omitted: omittedBody };
  }
  const isEmpty = !received.stream && (body === null || body.length === 0);
  if (!isEmpty && isEncoded(received.headers)) {
    return {
      body: null,
      omitted: omittedBodyOf('encoded', { headers: received.headers, contentType }),
    };
  }
  const isText = !binary && isTextual(contentType);
  if (received.stream) return { body: null, file: { isText } };
  if (body === null || body.length === 0) return { body: null };
  const decoded = binary ? undefined : decodeText(body, contentType);
  if (decoded === undefined) return { body: null, file: { isText } };
  const text = scrubber.text(decoded);
  const isJson =
    /^application\/(json|[a-z0-9.+-]+\+json)\s*(;|$)/i.test(contentType) || contentType === '';
  const parsedBody = isJson ? parseJson(text) : undefined;
  // Replacing a credential that the JSON has as a number makes the text invalid JSON. The
  // unscrubbed text is parsed instead, and the value is removed from the result.
  const wholeBody = parsedBody ?? (isJson && text !== decoded ? parseJson(decoded) : undefined);
  if (wholeBody === undefined) return { body: text };
  const numbers = wholeBody.inexactCount > 0 ? { hasNumbersAsText: true as const } : {};
  // Undoing JSON escapes can reveal a value that was hidden behind `\u` escapes.
  if (wholeBody === parsedBody && !text.includes('\\'))
    return { body: wholeBody.value, jsonText: text, ...numbers };
  const scrubbedBody = scrubber.json(wholeBody.value);
  return { body: scrubbedBody, jsonText: JSON.stringify(scrubbedBody), ...numbers };
}

/**
 * Whether the upstream used a content coding (such as gzip) that was not asked for. The encoded
 * bytes could hide a credential.
 */
function isEncoded(headers: ReceivedAnswer['headers']): boolean {
  return headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'content-encoding' && !/^\s*(identity)?\s*$/i.test(value),
  );
}

/**
 * The reason why a body is missing, for the result of the call. `contentType` has been scrubbed
 * already.
 */
export function omittedBodyOf(
  reason: NonNullable<CallResult['body_omitted']>['reason'],
  { headers, contentType }: { headers: ReceivedAnswer['headers']; contentType: string },
): NonNullable<CallResult['body_omitted']> {
  return { reason, content_type: contentType.slice(0, 200), size: announcedSizeOf(headers) };
}

function announcedSizeOf(headers: ReceivedAnswer['headers']): number | null {
  const text = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const textMediaType =
  /^(text\/|application\/(json|xml|javascript|ecmascript|x-www-form-urlencoded|yaml|x-yaml|x-ndjson|graphql|sql|toml|problem)|[a-z]+\/[a-z0-9.+-]+\+(json|xml|yaml))/i;

/** Whether a media type is that of a text. A missing media type counts as text. */
export function isTextual(contentType: string): boolean {
  return contentType === '' || textMediaType.test(contentType);
}

function decodeText(body: Uint8Array, contentType: string): string | undefined {
  if (!isTextual(contentType)) return undefined;
  const charset =
    charsetOfByteOrderMark(body) ??
    /;\s*charset="?([a-z0-9._:-]{1,40})"?/i.exec(contentType)?.[1] ??
    'utf-8';
  for (const label of new Set([charset, 'utf-8'])) {
    try {
      return new TextDecoder(label, { fatal: true }).decode(body);
    } catch {
      // The charset is unknown or the bytes are invalid in it, so the loop tries the next charset.
    }
  }
  return undefined;
}

/**
 * The charset that a byte order mark names, which takes precedence over the header (WHATWG Encoding
 * §6). The decoder would read plain `utf-16` as little-endian.
 */
function charsetOfByteOrderMark(body: Uint8Array): string | undefined {
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be';
  return body[0] === 0xff && body[1] === 0xfe ? 'utf-16le' : undefined;
}

/**
 * Parses JSON. Gives numbers as strings if a parser would change them. Undefined when the text is
 * not JSON, is nested deeper than `jsonDepthMax`, or has an object with two members of the same
 * name (a parser would drop one of them).
 */
export function parseBoundedJson(text: string): JsonValue | undefined {
  return parseJson(text)?.value;
}

/** Like `parseBoundedJson`, and also counts the numbers that are given as strings. */
export function parseJson(text: string): ExactJson | undefined {
  const namesInText = countNamesInText(text);
  if (namesInText === undefined) return undefined;
  try {
    const parsed = parseExactJson(text);
    // The parser keeps only the last of several members with the same name.
    return countNames(parsed.value) === namesInText ? parsed : undefined;
  } catch {
    return undefined; // The text is not JSON, whatever its media type says.
  }
}

function countNames(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countNames(item);
    return count;
  }
  for (const member of Object.values(value)) count += 1 + countNames(member);
  return count;
}

/** Counts the names of members. Undefined when the text is nested too deeply. */
function countNamesInText(text: string): number | undefined {
  let depth = 0;
  let names = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (isInString) {
      if (code === 0x5c) index += 1;
      else if (code === 0x22) isInString = false;
    } else if (code === 0x22) isInString = true;
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > jsonDepthMax) return undefined;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
    else if (code === 0x3a) names += 1;
  }
  return names;
}
