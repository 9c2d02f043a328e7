import { AppError } from '#errors';

/** The limits on one JSON text (settings `CAP_JSON_…`). */
export interface JsonLimits {
  readonly depthMax: number;
  /**
   * The number of items of all lists, plus the members of all objects, plus the outermost value.
   */
  readonly valuesMax: number;
  readonly itemsMax: number;
  /** The number of member names of all objects. */
  readonly namesMax: number;
  /** The characters of one member name. */
  readonly nameCharactersMax: number;
  /**
   * The characters of the path to one member: all names on the way, with a separator after each.
   */
  readonly pathCharactersMax: number;
}

export interface JsonSize {
  readonly values: number;
  readonly names: number;
}

const quoteByte = 0x22;
const commaByte = 0x2c;
const colonByte = 0x3a;
const openListByte = 0x5b;
const backslashByte = 0x5c;
const closeListByte = 0x5d;
const unicodeEscapeByte = 0x75;
const openObjectByte = 0x7b;
const closeObjectByte = 0x7d;
const spaceByte = 0x20;

/**
 * The highest depth limit that may be configured. Recursive functions elsewhere rely on this limit,
 * so that they cannot exhaust the stack.
 */
export const jsonDepthMax = 64;
/**
 * Per nesting level: the number of items of the open list, or -1 if an object is open. All calls
 * share this array, which is safe because `measureJson` is synchronous.
 */
const itemCountsByDepth = new Int32Array(jsonDepthMax + 1);
/**
 * Per nesting level: the characters of the path to the open list or object, and to its latest
 * member.
 */
const pathsByDepth = new Int32Array(jsonDepthMax + 1);
const memberPathsByDepth = new Int32Array(jsonDepthMax + 1);

/**
 * This many characters at the start of a string are scanned byte by byte. The rest of a longer
 * string is searched with `indexOf`.
 */
const scannedCharactersMax = 32;

/**
 * Measures a JSON text in one pass over its bytes, before the text is parsed and without creating
 * objects. Throws `too_large` as soon as a limit is exceeded. Does not validate the text: the
 * parser later rejects invalid JSON, and does not read beyond what was measured here.
 */
export function measureJson(bytes: Uint8Array, limits: JsonLimits): JsonSize {
  const { depthMax, valuesMax, itemsMax, namesMax, nameCharactersMax, pathCharactersMax } = limits;
  itemCountsByDepth[0] = -1;
  pathsByDepth[0] = 0;
  memberPathsByDepth[0] = 0;
  let stringStart = 0;
  let stringEnd = 0;
  let depth = 0;
  let values = 1;
  let nameCount = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] as number;
    if (byte === quoteByte) {
      stringStart = index + 1;
      stringEnd = index = findStringEnd(bytes, stringStart);
    } else if (byte === commaByte) {
      const itemCount = itemCountsByDepth[depth] as number;
      if (itemCount >= 0) {
        itemCountsByDepth[depth] = itemCount + 1;
        values += 1;
        if (itemCount + 1 > itemsMax)
          throw tooLargeError('list_items', itemsMax, 'items in one list');
      }
    } else if (byte === colonByte) {
      nameCount += 1;
      values += 1;
      if (nameCount > namesMax) throw tooLargeError('names', namesMax, 'names of members');
      const nameCharacters = countCharacters(bytes, stringStart, stringEnd);
      if (nameCharacters > nameCharactersMax)
        throw tooLargeError('name_characters', nameCharactersMax, 'characters in one name');
      const pathCharacters = (pathsByDepth[depth] as number) + nameCharacters + 1;
      if (pathCharacters > pathCharactersMax)
        throw tooLargeError('path_characters', pathCharactersMax, 'characters in nested names');
      memberPathsByDepth[depth] = pathCharacters;
    } else if (byte === openListByte || byte === openObjectByte) {
      depth += 1;
      if (depth > depthMax) throw tooLargeError('depth', depthMax, 'levels of nesting');
      pathsByDepth[depth] = memberPathsByDepth[depth - 1] as number;
      memberPathsByDepth[depth] = pathsByDepth[depth] as number;
      itemCountsByDepth[depth] = -1;
      if (byte === openListByte) {
        while ((bytes[index + 1] as number) <= spaceByte) index += 1;
        const isEmpty = bytes[index + 1] === closeListByte;
        itemCountsByDepth[depth] = isEmpty ? 0 : 1;
        if (!isEmpty) values += 1;
      }
    } else if ((byte === closeListByte || byte === closeObjectByte) && depth > 0) {
      depth -= 1;
    }
    if (values > valuesMax) throw tooLargeError('values', valuesMax, 'values');
  }
  return { values, names: nameCount };
}

/** Returns the index of the closing quote, or the length of the text if there is none. */
function findStringEnd(bytes: Uint8Array, from: number): number {
  let index = from;
  for (;;) {
    const searchedFrom = index + scannedCharactersMax;
    for (; index < searchedFrom; index += 1) {
      if (index >= bytes.length || bytes[index] === quoteByte) return index;
      if (bytes[index] === backslashByte) index += 1;
    }
    const quoteIndex = bytes.indexOf(quoteByte, index);
    if (quoteIndex < 0) return bytes.length;
    let escapesStart = quoteIndex;
    while (escapesStart > index && bytes[escapesStart - 1] === backslashByte) escapesStart -= 1;
    if ((quoteIndex - escapesStart) % 2 === 0) return quoteIndex;
    index = quoteIndex + 1;
  }
}

/** Counts the characters (UTF-16 units) of a JSON string. An escape counts as one character. */
function countCharacters(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let index = from; index < to; index += 1) {
    const byte = bytes[index] as number;
    if (byte === backslashByte) index += bytes[index + 1] === unicodeEscapeByte ? 5 : 1;
    if ((byte & 0xc0) !== 0x80) count += byte >= 0xf0 ? 2 : 1;
  }
  return count;
}

function tooLargeError(limit: string, max: number, description: string): AppError {
  return new AppError(
    'too_large',
    `The JSON has more than ${max.toLocaleString('en')} ${description}; send less, or in several requests.`,
    { details: { limit: `json_${limit}`, max } },
  );
}
