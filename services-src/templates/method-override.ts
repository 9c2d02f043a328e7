import type { JsonValue } from '../contracts/vocabulary.ts';
import { bodyKindOf } from './media-types.ts';
import { invalidParam } from './text.ts';

/**
 * Parameters by which some frameworks let a POST pretend to be another method: `_method` in a query
 * or body. PHP reads a blank, a dot or a bracket in a name as `_`, and passes over blanks before it.
 */
const override = /^\s*[_. []method\s*(?:[[\0]|$)/i;

export function refuseMethodOverride(name: string): void {
  if (override.test(name)) {
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
 * The names in a body: members of an object, whatever it is written as, and the same in a text of
 * JSON, a form or a multipart form. A name that `isKnown` is meant.
 */
export function refuseOverrideInBody(
  body: JsonValue | undefined,
  mediaType: string | undefined,
  isKnown: (name: string) => boolean = () => false,
): void {
  if (body === null || body === undefined) return;
  if (typeof body === 'object') {
    for (const name of Object.keys(body)) if (!isKnown(name)) refuseMethodOverride(name);
    return;
  }
  if (typeof body !== 'string' || !mayHoldOverride.test(body)) return;
  const kind = mediaType === undefined ? undefined : bodyKindOf(mediaType);
  if (kind === undefined || kind === 'form') refuseOverrideInPairs(body);
  if (kind === undefined || /^\s*multipart\//i.test(mediaType ?? '')) refuseInParts(body);
  if (kind === undefined || kind === 'json') {
    const parsed = parse(body);
    if (typeof parsed === 'object') refuseOverrideInBody(parsed, mediaType, isKnown);
  }
}

/** Most texts have no such word, however it is escaped. */
const mayHoldOverride = /method|%|\\u/i;

/** RFC 7578 §4.2: `Content-Disposition: form-data; name="_method"`, in quotes or without. */
function refuseInParts(text: string): void {
  for (const [, quoted, plain] of text.matchAll(
    /\bname\*?\s*=\s*(?:"([^"\r\n]{0,40})|([^\s";]{1,40}))/gi,
  )) {
    refuseMethodOverride(decode((quoted ?? plain ?? '').replace(/^utf-8'[^']*'/i, '')));
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
