import type { JsonValue } from '../contracts/vocabulary.ts';
import { bodyKindOf } from './media-types.ts';
import { invalidParam } from './text.ts';

/**
 * Parameters by which some servers let a POST pretend to be another method: `_method`, Salesforce's
 * `_HttpMethod`, and the header `X-HTTP-Method-Override` as a parameter. PHP reads a blank, a dot or a
 * bracket in a name as `_`, and passes over blanks before it.
 */
const override =
  /^\s*(?:[_. []method|[_. [$]http[-_]?method|x[-_]http[-_]method(?:[-_]override)?)\s*(?:[[\0]|$)/i;

type IsKnown = (name: string) => boolean;
const isNever: IsKnown = () => false;

/** A name that `isKnown` is meant. */
export function refuseMethodOverride(name: string, isKnown = isNever): void {
  if (override.test(name) && !isKnown(name)) {
    throw invalidParam(name, 'would change the method of the request, which is refused');
  }
}

/** The names in a query or form; some servers take `;` for `&`. */
export function refuseOverrideInPairs(text: string): void {
  if (!mayHoldOverride.test(text)) return;
  for (const pair of text.split(/[&;]/)) {
    refuseMethodOverride(decode((pair.split('=', 1)[0] ?? '').replaceAll('+', ' ')));
  }
}

/**
 * The names in a body: members of an object, whatever it is written as, and the same in a text, or in
 * bytes, of JSON, a form or a multipart form. A name that `isKnown` is meant.
 */
export function refuseOverrideInBody(
  body: JsonValue | undefined,
  mediaType: string | undefined,
  isKnown = isNever,
): void {
  if (typeof body === 'string') return refuseInText(body, mediaType, isKnown);
  if (typeof body !== 'object' || body === null) return;
  for (const name of Object.keys(body)) refuseMethodOverride(name, isKnown);
  const bytes = Array.isArray(body) ? undefined : body['base64'];
  if (typeof bytes === 'string' && mediaType !== undefined && isReadAsFields(mediaType)) {
    refuseInText(Buffer.from(bytes, 'base64').toString(), mediaType, isKnown);
  }
}

/** A type whose bodies are bytes to us, and fields to frameworks that look for a part of its name. */
function isReadAsFields(mediaType: string): boolean {
  return bodyKindOf(mediaType) === 'binary' && /json|form|multipart/i.test(mediaType);
}

/** JSON is looked for whatever the type: frameworks take `text/x-json` and `foo/json` for it as well. */
function refuseInText(text: string, mediaType: string | undefined, isKnown: IsKnown): void {
  if (!mayHoldOverride.test(text)) return;
  if (mediaType === undefined || /urlencoded/i.test(mediaType)) refuseOverrideInPairs(text);
  const isMultipart = mediaType !== undefined && /multipart/i.test(mediaType);
  if (isMultipart || mediaType === undefined) refuseInParts(text);
  if (isMultipart) return;
  const parsed = /^[\s\uFEFF]*\{/.test(text) ? parse(text.replace(/^\uFEFF/, '')) : undefined;
  if (typeof parsed === 'object') refuseOverrideInBody(parsed, 'application/json', isKnown);
}

/** Most texts have no such word, however it is escaped. */
const mayHoldOverride = /method|%|\\/i;

/**
 * RFC 7578 §4.2: `Content-Disposition: form-data; name="_method"`, in quotes or without. Rack reads
 * a quoted `\_` as `_` (RFC 9110 §5.6.4).
 */
function refuseInParts(text: string): void {
  for (const [, quoted, plain] of text.matchAll(
    /\bname\*?\s*=\s*(?:"\s*((?:\\.|[^"\\\r\n]){0,100})|([^\s";]{1,100}))/gi,
  )) {
    const name = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '';
    refuseMethodOverride(decode(name.replace(/^utf-8'[^']*'/i, '')));
  }
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not UTF-8: then it is no name that we look for.
  }
}
