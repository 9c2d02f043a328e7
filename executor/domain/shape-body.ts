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
}

export interface ShapedBody {
  readonly body: JsonValue;
  /** The JSON text a filter may read; undefined when the answer is not JSON. */
  readonly jsonText?: string;
  readonly omitted?: NonNullable<CallResult['body_omitted']>;
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
  return Object.fromEntries(
    [...joined].map(([name, value]) => [scrubber.text(name), scrubber.text(value)]),
  );
}

/** JSON when the upstream sent JSON, else text; bytes that are neither are named, never mangled (decisions: Binary). */
export function shapeBody(
  { body, lost, ...received }: Received,
  { contentType, binary, scrubber }: { contentType: string; binary: boolean; scrubber: Scrubber },
): ShapedBody {
  const omit = (
    reason: 'too_large' | 'binary' | 'incomplete',
    size: number | null,
  ): ShapedBody => ({
    body: null,
    omitted: { reason, content_type: scrubber.text(contentType).slice(0, 200), size },
  });
  if (lost !== null) return omit(lost, announcedSize(received.headers));
  if (body === null || body.length === 0) return { body: null };
  if (binary || isEncoded(received.headers)) return omit('binary', body.length);
  const decoded = decode(body, contentType);
  if (decoded === undefined) return omit('binary', body.length);
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

/** In a coding that was not undone: its bytes are no text, whatever its type says, and could hide anything. */
function isEncoded(headers: Received['headers']): boolean {
  return headers.some(
    ([name, value]) =>
      name.toLowerCase() === 'content-encoding' && !/^\s*(identity)?\s*$/i.test(value),
  );
}

function announcedSize(headers: Received['headers']): number | null {
  const text = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1] ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const textual =
  /^(text\/|application\/(json|xml|javascript|ecmascript|x-www-form-urlencoded|yaml|x-yaml|x-ndjson|graphql|sql|toml|problem)|[a-z]+\/[a-z0-9.+-]+\+(json|xml|yaml))/i;

function decode(body: Uint8Array, contentType: string): string | undefined {
  if (contentType !== '' && !textual.test(contentType)) return undefined;
  const charset = /;\s*charset="?([a-z0-9._:-]{1,40})"?/i.exec(contentType)?.[1] ?? 'utf-8';
  for (const label of new Set([charset, 'utf-8'])) {
    try {
      return new TextDecoder(label, { fatal: true }).decode(body);
    } catch {
      // An unknown charset, or bytes that are not in it: the next candidate, or no text at all.
    }
  }
  return undefined;
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
