import { AppError } from '#errors';

/** What one JSON text may hold; settings `CAP_JSON_…`. */
export interface JsonLimits {
  readonly depthMax: number;
  /** Items of all lists, members of all objects, and the text's own value. */
  readonly valuesMax: number;
  readonly itemsMax: number;
  /** Names of all objects together. */
  readonly namesMax: number;
}

export interface JsonSize {
  readonly values: number;
  readonly names: number;
}

const quoteByte = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openList = 0x5b;
const backslash = 0x5c;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
const space = 0x20;

/** Deeper than this no limit may be: what walks values elsewhere is bounded by it. */
export const jsonDepthMax = 64;
/** Items of each open list, -1 for an object; one for all texts, since counting one never waits. */
const items = new Int32Array(jsonDepthMax + 1);

/** Characters of a string that are looked at one by one before the rest is searched natively. */
const shortString = 32;

/**
 * Counts what a JSON text holds before it is parsed, in one pass over its bytes that makes no
 * objects; throws `too_large` as soon as a limit is passed. Of text that is not JSON it says
 * nothing: the parser refuses that, having read no more than was counted here.
 */
export function measureJson(bytes: Uint8Array, limits: JsonLimits): JsonSize {
  const { depthMax, valuesMax, itemsMax, namesMax } = limits;
  items[0] = -1;
  let depth = 0;
  let values = 1;
  let names = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === quoteByte) {
      at = endOfString(bytes, at + 1);
    } else if (byte === comma) {
      const open = items[depth] as number;
      if (open >= 0) {
        items[depth] = open + 1;
        values += 1;
        if (open + 1 > itemsMax) throw tooLarge('list_items', itemsMax, 'items in one list');
      }
    } else if (byte === colon) {
      names += 1;
      values += 1;
      if (names > namesMax) throw tooLarge('names', namesMax, 'names of members');
    } else if (byte === openList || byte === openObject) {
      depth += 1;
      if (depth > depthMax) throw tooLarge('depth', depthMax, 'levels of nesting');
      items[depth] = -1;
      if (byte === openList) {
        while ((bytes[at + 1] as number) <= space) at += 1;
        const isEmpty = bytes[at + 1] === closeList;
        items[depth] = isEmpty ? 0 : 1;
        if (!isEmpty) values += 1;
      }
    } else if ((byte === closeList || byte === closeObject) && depth > 0) {
      depth -= 1;
    }
    if (values > valuesMax) throw tooLarge('values', valuesMax, 'values');
  }
  return { values, names };
}

/** Where the string ends that begins here; the end of the text when it does not end. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const searchedFrom = at + shortString;
    for (; at < searchedFrom; at += 1) {
      if (at >= bytes.length || bytes[at] === quoteByte) return at;
      if (bytes[at] === backslash) at += 1;
    }
    const quote = bytes.indexOf(quoteByte, at);
    if (quote < 0) return bytes.length;
    let escapes = quote;
    while (escapes > at && bytes[escapes - 1] === backslash) escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote;
    at = quote + 1;
  }
}

function tooLarge(limit: string, max: number, what: string): AppError {
  return new AppError(
    'too_large',
    `The JSON has more than ${max.toLocaleString('en')} ${what}; send less, or in several requests.`,
    { details: { limit: `json_${limit}`, max } },
  );
}
