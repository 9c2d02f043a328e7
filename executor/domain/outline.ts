import { hash } from 'node:crypto';

import type { ShortenedValue, ShownRequest } from '#contracts/http/approvals';
import type { JsonValue } from '#contracts/vocabulary';

/** Of a value that is cut, at least this much is shown; of a name, at most this much. */
const textBytesMin = 60;
const nameCharactersMax = 200;
/** Lists and objects that lie deeper, or get less room, are shown as the beginning of their JSON. */
const depthMax = 12;
const containerBytesMin = 200;
/** Of one entry beyond its value: its name's quotes, colon and comma. */
const entryBytes = 4;

/**
 * A request that is small enough to be shown, or its outline. What there is room for is shared out
 * fairly among the entries of each object and list: the small ones are shown whole, and only the
 * largest are cut, so that no value can be hidden behind the size of another.
 */
export function fit(shown: ShownRequest, bytesMax: number): ShownRequest {
  const isLong = countCharacters(shown as unknown as JsonValue, bytesMax) > bytesMax;
  if (!isLong && sizeOf(shown) <= bytesMax) return shown;
  const known = createKnown(bytesMax);
  // Cut values take room in `shortened` too: how much is known only when they are.
  for (let bytes = Math.floor(bytesMax * 0.75); ; bytes = Math.floor(bytes / 2)) {
    const outline = outlineOf(shown, bytes, known);
    if (sizeOf(outline) <= bytesMax || bytes < textBytesMin) return outline;
  }
}

/** Of all texts, until there are too many: without writing them as JSON, which takes much longer. */
function countCharacters(value: JsonValue, max: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  for (const each of Array.isArray(value) ? value : Object.values(value)) {
    count += countCharacters(each, max - count);
    if (count > max) break;
  }
  return count;
}

function outlineOf(shown: ShownRequest, bytes: number, known: Known): ShownRequest {
  const { method, credentials, redacted, ...rest } = shown;
  const cutter = createCutter(known);
  const fields = Object.entries(rest as Record<string, JsonValue>);
  const shares = shareOut(
    bytes,
    fields.map(([, value]) => known.measure(value)),
  );
  const cut = fields.map(([name, value], index): [string, JsonValue] => [
    name,
    cutter.cut(value, { bytes: shares[index] ?? 0, at: `/${name}`, depth: 0 }),
  ]);
  const outline = Object.fromEntries(cut) as unknown as typeof rest;
  const places = redacted === undefined ? {} : { redacted };
  const { shortened } = cutter;
  return { method, ...outline, credentials, ...places, too_large: true, shortened };
}

/** What is found out about values once, however often they are cut: the same text stands in params and body. */
interface Known {
  readonly measure: (value: JsonValue) => number;
  readonly identify: (value: JsonValue) => Pick<ShortenedValue, 'bytes' | 'sha256'>;
}

function createKnown(bytesMax: number): Known {
  const sizes = new Map<JsonValue, number>();
  const identities = new Map<JsonValue, Pick<ShortenedValue, 'bytes' | 'sha256'>>();

  const sizeIn = (value: object): number => {
    let size = 2;
    if (Array.isArray(value)) {
      for (const each of value as JsonValue[]) size += entryBytes + measure(each);
      return size;
    }
    for (const [name, each] of Object.entries(value))
      size += nameBytes(name, false) + measure(each);
    return size;
  };
  const measure = (value: JsonValue): number => {
    if (value === null || typeof value === 'number' || typeof value === 'boolean') {
      return String(value).length;
    }
    if (typeof value === 'string') {
      // There is no room for it, however much longer it is as JSON.
      if (value.length > bytesMax) return value.length;
      if (value.length < textBytesMin) return textSize(value);
    }
    let size = sizes.get(value);
    if (size === undefined) {
      size = typeof value === 'string' ? sizeOf(value) : sizeIn(value);
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

interface Room {
  readonly bytes: number;
  readonly at: string;
  readonly depth: number;
}

function createCutter({ measure, identify }: Known) {
  const shortened: ShortenedValue[] = [];

  const note = (value: JsonValue, at: string, entries?: { entries: number; shown: number }) => {
    shortened.push({ at, ...identify(value), ...entries });
  };

  const cut = (value: JsonValue, { bytes, at, depth }: Room): JsonValue => {
    if (measure(value) <= bytes) return value;
    const isTextual = depth === depthMax || (depth > 0 && bytes < containerBytesMin);
    if (typeof value !== 'object' || value === null || isTextual) {
      note(value, at);
      return beginning(typeof value === 'string' ? value : JSON.stringify(value), bytes);
    }
    const isList = Array.isArray(value);
    const entries = firstEntries(value, Math.max(1, Math.floor(bytes / textBytesMin)));
    const total = isList ? value.length : Object.keys(value).length;
    const names = shownNames(entries, { isList, bytes });
    const kept = entries.slice(0, names.length);
    const taken = names.reduce((sum, name) => sum + nameBytes(name, isList), 0);
    const shares = shareOut(
      Math.max(0, bytes - taken),
      kept.map(([, each]) => measure(each)),
    );
    const parts = kept.map(([, each], index): [string, JsonValue] => {
      const name = names[index] ?? '';
      const place = { bytes: shares[index] ?? 0, at: `${at}/${pointerStep(name)}` };
      return [name, cut(each, { ...place, depth: depth + 1 })];
    });
    const shown = isList ? parts.map(([, each]) => each) : Object.fromEntries(parts);
    const count = Object.keys(shown).length;
    if (count < total || kept.some(([name], index) => name !== names[index])) {
      note(value, at, { entries: total, shown: count });
    }
    return shown;
  };
  return { cut, shortened };
}

/** Max-min fair shares of what there is room for: nobody gets more than it needs. */
function shareOut(total: number, needs: readonly number[]): number[] {
  let left = total;
  let count = needs.length;
  // Numbers alone are sorted much faster than what they belong to.
  for (const need of Float64Array.from(needs).toSorted()) {
    const share = Math.floor(left / count);
    if (need > share) return needs.map((each) => Math.min(each, share));
    left -= need;
    count -= 1;
  }
  return [...needs];
}

/** Of tens of thousands of entries there is room for a few. */
function firstEntries(value: JsonValue & object, max: number): [string, JsonValue][] {
  if (Array.isArray(value)) return value.slice(0, max).map((each, at) => [String(at), each]);
  const names = Object.keys(value).slice(0, max);
  return names.map((name) => [name, value[name] as JsonValue]);
}

/** The names of as many entries as there is room for: half of it for names, the rest for what they name. */
function shownNames(
  entries: readonly (readonly [string, JsonValue])[],
  { isList, bytes }: { isList: boolean; bytes: number },
): string[] {
  const names: string[] = [];
  let left = bytes / 2;
  for (const [name] of entries) {
    const shown = isList ? name : shownName(name);
    left -= nameBytes(shown, isList);
    if (left < 0 && names.length > 0) break;
    names.push(shown);
  }
  return names;
}

function nameBytes(name: string, isList: boolean): number {
  return entryBytes + (isList ? 0 : textSize(name));
}

function beginning(text: string, bytes: number): string {
  const room = Math.max(textBytesMin, bytes);
  // Measured as JSON, in which a character may take six bytes.
  let length = Math.min(text.length, room);
  while (length > 0 && sizeOf(text.slice(0, length)) > room) length = Math.floor(length * 0.8);
  return `${text.slice(0, length).toWellFormed()}…`;
}

/** A name that is too long itself is shown by its beginning and what tells it from others. */
function shownName(name: string): string {
  if (name.length <= nameCharactersMax) return name;
  const sha256 = hash('sha256', name);
  return `${name.slice(0, 60).toWellFormed()}… (sha256 ${sha256})`;
}

/** RFC 6901 §3. */
export function pointerStep(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** There may be tens of thousands of them, most of which JSON only puts in quotes. */
function textSize(text: string): number {
  return /^[\w .:/-]{0,100}$/.test(text) ? text.length + 2 : sizeOf(text);
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
