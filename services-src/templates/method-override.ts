import type { JsonValue } from '../contracts/vocabulary.ts';
import { isMethodOverride } from '../contracts/method-override.ts';
import { bodyKindOf } from './media-types.ts';
import { decodePercents } from './percents.ts';
import { invalidParam } from './text.ts';

type IsKnown = (name: string) => boolean;
const isNeverKnown: IsKnown = () => false;

/** Refuses an overriding name, unless `isKnown` says that the template has this parameter. */
export function refuseMethodOverride(name: string, isKnown = isNeverKnown): void {
  if (isMethodOverride(name) && !isKnown(name)) {
    throw invalidParam(name, 'would change the method of the request, which is refused');
  }
}

/** Checks the names in a query or form, where some servers accept `;` in place of `&`. */
export function refuseOverrideInPairs(text: string): void {
  if (!overrideHintPattern.test(text)) return;
  for (const pair of text.split(/[&;]/)) {
    if (pair.length < overrideCharactersMin) continue;
    refuseMethodOverride(decodePercents((pair.split('=', 1)[0] ?? '').replaceAll('+', ' ')));
  }
}

/**
 * Checks the names in a body: the members of an object in any media type, and the names in text or
 * bytes that contain JSON, a form or a multipart form. Names that `isKnown` accepts are allowed.
 */
export function refuseOverrideInBody(
  body: JsonValue | undefined,
  mediaType: string | undefined,
  isKnown = isNeverKnown,
): void {
  if (body !== undefined && body !== null && mediaType !== undefined) refuseOtherCharset(mediaType);
  if (typeof body === 'string') return refuseOverrideInText(body, mediaType, isKnown);
  if (typeof body !== 'object' || body === null) return;
  for (const name of Object.keys(body)) refuseMethodOverride(name, isKnown);
  const kind = mediaType === undefined ? undefined : bodyKindOf(mediaType);
  if (kind === 'form' || kind === 'multipart') refuseAmbiguousNames(body, kind);
  const base64Text = Array.isArray(body) ? undefined : body['base64'];
  if (typeof base64Text === 'string' && mediaType !== undefined && isReadAsFields(mediaType)) {
    refuseOverrideInText(Buffer.from(base64Text, 'base64').toString(), mediaType, isKnown);
  }
}

/**
 * Refuses names of form fields that servers read in different ways: in a multipart form some take a
 * backslash for an escape (RFC 9110 §5.6.4), so `\\_method` is `_method` to them. The names of
 * nested members are written into the names of a form, and stay JSON in a multipart form.
 */
function refuseAmbiguousNames(body: object, kind: 'form' | 'multipart'): void {
  const pendingValues: unknown[] = [body];
  for (let value = pendingValues.pop(); value !== undefined; value = pendingValues.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      const isEncodedWord = kind === 'multipart' && name.startsWith('=?');
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      if (isEncodedWord || /[\\"\u0000-\u001f\u007f]/.test(name)) {
        throw invalidParam(
          name,
          'is the name of a form field that servers read in different ways; leave out backslashes, quotes, control characters and encoded words ("=?")',
        );
      }
      if (kind === 'form') pendingValues.push(member);
    }
  }
}

const fieldsPattern = /json|form|multipart/i;

/**
 * Whether some frameworks parse a media type as fields because of a part of its name, although the
 * gateway treats it as bytes.
 */
function isReadAsFields(mediaType: string): boolean {
  return bodyKindOf(mediaType) === 'binary' && fieldsPattern.test(mediaType);
}

/** Charsets in which ASCII letters are the same bytes as in UTF-8. */
const asciiCharsets = ['utf-8', 'utf8', 'us-ascii', 'ascii', 'iso-8859-1', 'windows-1252'];

/**
 * In UTF-16 or UTF-7, servers would read other field names than the names that are checked here.
 * Only some servers read `charset*=utf-8''utf-7` and `charset*0=` (RFC 2231), so both are refused.
 */
function refuseOtherCharset(mediaType: string): void {
  if (!fieldsPattern.test(mediaType)) return;
  for (const [, charset = ''] of mediaType.matchAll(/charset\s*(?:=[\s"']*([^\s"';,]*)|\*)/gi)) {
    if (asciiCharsets.includes(charset.toLowerCase())) continue;
    throw invalidParam(
      'body',
      'has a media type with a charset in which servers would read other names of fields; write charset=utf-8 or leave it out',
    );
  }
}

/** Looks for JSON in every type: frameworks parse `text/x-json` and `foo/json` as JSON as well. */
function refuseOverrideInText(text: string, mediaType: string | undefined, isKnown: IsKnown): void {
  const isMultipart = mediaType !== undefined && /multipart/i.test(mediaType);
  if (isMultipart) refuseCodedNames(text);
  else if (text.includes('\0') && /json|urlencoded/i.test(mediaType ?? 'json')) {
    throw invalidParam('body', 'holds a NUL, as UTF-16 does, where only UTF-8 is read in one way');
  }
  if (!overrideHintPattern.test(text)) return;
  if (mediaType === undefined || /urlencoded/i.test(mediaType)) refuseOverrideInPairs(text);
  if (isMultipart || mediaType === undefined) refuseOverrideInParts(text);
  if (isMultipart) return;
  const parsedBody = /^[\s\uFEFF]*\{/.test(text)
    ? parseJson(text.replace(/^\uFEFF/, ''))
    : undefined;
  if (typeof parsedBody === 'object') refuseOverrideInBody(parsedBody, 'application/json', isKnown);
}

/** No name that overrides the method is shorter than `_method`. */
const overrideCharactersMin = 7;

/** Fast path: most texts do not contain the word `method`, nor an escape that could hide it. */
const overrideHintPattern = /method|%|\\/i;

/**
 * RFC 7578 §4.2: `Content-Disposition: form-data; name="_method"`, in quotes or without. Rack reads
 * a quoted `\_` as `_` (RFC 9110 §5.6.4). PHP takes `'` for a quote as well, so a name that begins
 * with `'` is read in both ways. The look-ahead prevents a value from hiding a name inside it.
 */
function refuseOverrideInParts(text: string): void {
  for (const [, quoted, quotedByPhp, plain] of text.matchAll(
    /\bname\*?\s*=\s*(?=(?:"\s*((?:\\.|[^"\\\r\n]){0,100})|'\s*((?:\\.|[^'\\\r\n]){0,100})|([^\s";]{1,100})))/gi,
  )) {
    const name = (quoted ?? quotedByPhp)?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '';
    if (name.length < overrideCharactersMin) continue;
    refuseMethodOverride(decodePercents(name.replace(/^utf-8'[^']*'/i, '')));
  }
}

/**
 * Refuses names of parts that only some servers decode: `name*=`, `name*0=` (RFC 2231, which RFC 7578
 * §4.2 forbids here) and encoded words (RFC 2047).
 */
function refuseCodedNames(text: string): void {
  for (const [disposition] of text.matchAll(/content-disposition(?:[^\r\n]|\r?\n[ \t])*/gi)) {
    if (/[\s;]name\s*\*|[\s;]name\s*=[\s"']*=\?/i.test(disposition)) {
      throw invalidParam(
        'body',
        'names a part in a way that only some servers decode; write name="…" in UTF-8',
      );
    }
  }
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
