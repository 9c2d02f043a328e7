import { hash } from 'node:crypto';

import type { ShortenedValue, ShownRequest } from '#contracts/http/approvals';
import type { JsonValue } from '#contracts/vocabulary';

/** A shortened value shows at least this many bytes, and a shortened name at most this many. */
const textBytesMin = 60;
const nameCharactersMax = 200;
/**
 * Objects and lists below this depth, or with too little space, are shown as the beginning of their
 * JSON text.
 */
const depthMax = 12;
const containerBytesMin = 200;
/** The bytes that an entry needs in addition to its name and value: quotes, colon and comma. */
const entryBytes = 4;
/** The least bytes of a note about a shortened value, in addition to its path. */
const noteBytesMin = 100;

/**
 * Returns the request itself when it is small enough to be shown, and otherwise its outline. The
 * outline divides the space fairly among the entries of each object and list: small entries are
 * shown whole and only the largest are cut, so a large value cannot hide a small one.
 */
export function fitOutline(request: ShownRequest, bytesMax: number): ShownRequest {
  const isLong = leastSizeOf(request as unknown as JsonValue, bytesMax) > bytesMax;
  if (!isLong && sizeOf(request) <= bytesMax) return request;
  const measures = createCachedMeasures(bytesMax);
  // The outline also lists the values that it shortened. The size of this list is known only after
  // they are cut, so the outline is tried with less and less space until both fit.
  for (let bytes = Math.floor(bytesMax * 0.75); ; bytes = Math.floor(bytes / 2)) {
    const isLast = bytes < textBytesMin;
    const noteBytesMax = isLast ? Infinity : bytesMax - Math.floor(bytes / 2);
    const outline = outlineOf(request, { bytes, noteBytesMax, measures });
    if (outline !== undefined && (isLast || sizeOf(outline) <= bytesMax)) return outline;
  }
}

/**
 * Adds up the bytes that a value's JSON text has at least, up to a limit. Writing the JSON text
 * itself would take much longer.
 */
function leastSizeOf(value: JsonValue, max: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 0;
  if (Array.isArray(value)) {
    for (const each of value) {
      size += leastSizeOf(each, max - size) + 1;
      if (size > max) break;
    }
    return size;
  }
  for (const name of Object.keys(value)) {
    size += name.length + leastSizeOf(value[name] as JsonValue, max - size) + entryBytes;
    if (size > max) break;
  }
  return size;
}

interface OutlineRoom {
  /** The bytes that the values may take. */
  readonly bytes: number;
  /** The most bytes that the list of shortened values may take. */
  readonly noteBytesMax: number;
  readonly measures: CachedMeasures;
}

/** Returns nothing when the list of shortened values needs more than its space. */
function outlineOf(
  request: ShownRequest,
  { bytes, noteBytesMax, measures }: OutlineRoom,
): ShownRequest | undefined {
  const { method, credentials, redacted, ...rest } = request;
  const cutter = createCutter(measures, noteBytesMax);
  const fields = Object.entries(rest as Record<string, JsonValue>);
  const shares = shareOut(
    bytes,
    fields.map(([, value]) => measures.measure(value)),
  );
  const shortenedFields = fields.map(([name, value], index): [string, JsonValue] => [
    name,
    cutter.cut(value, { bytes: shares[index] ?? 0, at: `/${name}`, depth: 0 }),
  ]);
  if (cutter.isFull()) return undefined;
  const outline = Object.fromEntries(shortenedFields) as unknown as typeof rest;
  const redactedPlaces = redacted === undefined ? {} : { redacted };
  const { shortened } = cutter;
  return { method, ...outline, credentials, ...redactedPlaces, too_large: true, shortened };
}

/**
 * Caches sizes and digests of values, because the params and the body often contain the same text.
 */
interface CachedMeasures {
  readonly measure: (value: JsonValue) => number;
  readonly identify: (value: JsonValue) => Pick<ShortenedValue, 'bytes' | 'sha256'>;
}

function createCachedMeasures(bytesMax: number): CachedMeasures {
  const sizes = new Map<JsonValue, number>();
  const identities = new Map<JsonValue, Pick<ShortenedValue, 'bytes' | 'sha256'>>();

  const measureContainer = (value: object): number => {
    let size = 2;
    if (Array.isArray(value)) {
      for (const each of value as JsonValue[]) size += entryBytes + measure(each);
      return size;
    }
    for (const [name, each] of Object.entries(value))
      size += nameBytesOf(name, false) + measure(each);
    return size;
  };
  const measure = (value: JsonValue): number => {
    if (value === null || typeof value === 'number' || typeof value === 'boolean') {
      return String(value).length;
    }
    if (typeof value === 'string') {
      // The text needs more than the space even before JSON escapes are counted.
      if (value.length > bytesMax) return value.length;
      if (value.length < textBytesMin) return textSizeOf(value);
    }
    let size = sizes.get(value);
    if (size === undefined) {
      size = typeof value === 'string' ? sizeOf(value) : measureContainer(value);
      sizes.set(value, size);
    }
    return size;
  };
  return {
    measure,
    identify(value) {
      let identity = identities.get(value);
      if (identity === undefined) {
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        const sha256 = hash('sha256', text);
        identity = { bytes: Buffer.byteLength(text), sha256 };
        identities.set(value, identity);
      }
      return identity;
    },
  };
}

interface CutRoom {
  readonly bytes: number;
  readonly at: string;
  readonly depth: number;
}

function createCutter({ measure, identify }: CachedMeasures, noteBytesMax: number) {
  const shortened: ShortenedValue[] = [];
  let noteBytes = 0;
  const isFull = () => noteBytes > noteBytesMax;

  const noteCut = (
    value: JsonValue,
    path: string,
    entries?: { entries: number; shown: number },
  ) => {
    noteBytes += path.length + noteBytesMin;
    if (!isFull()) shortened.push({ at: path, ...identify(value), ...entries });
  };

  const shorten = (value: JsonValue, { bytes, at, depth }: CutRoom): JsonValue => {
    // Once the list of notes is full, the result is discarded, so the value need not be shortened.
    if (isFull() || measure(value) <= bytes) return value;
    const isShownAsText = depth === depthMax || (depth > 0 && bytes < containerBytesMin);
    if (typeof value !== 'object' || value === null || isShownAsText) {
      noteCut(value, at);
      return beginningOf(typeof value === 'string' ? value : JSON.stringify(value), bytes);
    }
    const isList = Array.isArray(value);
    const entries = firstEntriesOf(value, Math.max(1, Math.floor(bytes / textBytesMin)));
    const entryCount = isList ? value.length : Object.keys(value).length;
    const names = fittingNamesOf(entries, { isList, bytes });
    const keptEntries = entries.slice(0, names.length);
    const nameBytesTotal = names.reduce((sum, name) => sum + nameBytesOf(name, isList), 0);
    const shares = shareOut(
      Math.max(0, bytes - nameBytesTotal),
      keptEntries.map(([, each]) => measure(each)),
    );
    const parts = keptEntries.map(([, each], index): [string, JsonValue] => {
      const name = names[index] ?? '';
      const childRoom = { bytes: shares[index] ?? 0, at: `${at}/${pointerStep(name)}` };
      return [name, shorten(each, { ...childRoom, depth: depth + 1 })];
    });
    const shortened = isList ? parts.map(([, each]) => each) : Object.fromEntries(parts);
    const count = Object.keys(shortened).length;
    if (count < entryCount || keptEntries.some(([name], index) => name !== names[index])) {
      noteCut(value, at, { entries: entryCount, shown: count });
    }
    return shortened;
  };
  return { cut: shorten, shortened, isFull };
}

/**
 * Divides space among entries by max-min fairness: no entry gets more space than it needs, and the
 * entries that need more get equal parts.
 */
function shareOut(bytesTotal: number, needs: readonly number[]): number[] {
  let bytesLeft = bytesTotal;
  let count = needs.length;
  // Sorting plain numbers is much faster than sorting the entries.
  for (const need of Float64Array.from(needs).toSorted()) {
    const share = Math.floor(bytesLeft / count);
    if (need > share) return needs.map((each) => Math.min(each, share));
    bytesLeft -= need;
    count -= 1;
  }
  return [...needs];
}

/**
 * The first entries of a value. A value may have tens of thousands of entries, and only a few fit.
 */
function firstEntriesOf(value: JsonValue & object, max: number): [string, JsonValue][] {
  if (Array.isArray(value)) return value.slice(0, max).map((each, at) => [String(at), each]);
  const keys = Object.keys(value).slice(0, max);
  return keys.map((name) => [name, value[name] as JsonValue]);
}

/** The names of as many entries as fit. Names get half of the space, and values the other half. */
function fittingNamesOf(
  entries: readonly (readonly [string, JsonValue])[],
  { isList, bytes }: { isList: boolean; bytes: number },
): string[] {
  const names: string[] = [];
  let bytesLeft = bytes / 2;
  for (const [name] of entries) {
    const shownKey = isList ? name : shortenName(name);
    bytesLeft -= nameBytesOf(shownKey, isList);
    if (bytesLeft < 0 && names.length > 0) break;
    names.push(shownKey);
  }
  return names;
}

function nameBytesOf(name: string, isList: boolean): number {
  return entryBytes + (isList ? 0 : textSizeOf(name));
}

function beginningOf(text: string, bytes: number): string {
  const roomBytes = Math.max(textBytesMin, bytes);
  // Space is measured in bytes of JSON. One character may need six bytes there.
  let length = Math.min(text.length, roomBytes);
  while (length > 0 && sizeOf(text.slice(0, length)) > roomBytes) length = Math.floor(length * 0.8);
  return `${text.slice(0, length).toWellFormed()}…`;
}

/**
 * Shortens a name that is too long to its beginning, with a number that distinguishes it from other
 * shortened names.
 */
function shortenName(name: string): string {
  if (name.length <= nameCharactersMax) return name;
  const sha256 = hash('sha256', name);
  return `${name.slice(0, 60).toWellFormed()}… (sha256 ${sha256})`;
}

/** Escapes a name in a JSON pointer (RFC 6901 §3). */
export function pointerStep(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * The size of a text as JSON. Checks first whether the text has characters that JSON escapes. A
 * request may have tens of thousands of texts and most need no escapes; their size is the length
 * plus the quotes.
 */
function textSizeOf(text: string): number {
  return /^[\w .:/-]{0,100}$/.test(text) ? text.length + 2 : sizeOf(text);
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
