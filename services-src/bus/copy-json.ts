// TypeScript does not know this function yet.
const { isRawJSON: isRawJson } = JSON as unknown as {
  isRawJSON(this: void, value: unknown): boolean;
};

/** An escape such as `\\u0000` takes six bytes for one character. No character takes more bytes. */
const bytesPerCharacterMax = 6;
/** The size of the longest number, such as `-1.2345678901234567e-300`, in units of six bytes. */
const numberSize = 4;

export interface JsonCopy {
  /** What `JSON.parse(JSON.stringify(value))` gives. */
  readonly value: unknown;
  /** The estimated length of the JSON text. It is never below a sixth of the text's bytes. */
  readonly size: number;
}

/** Whether the JSON text of the value that was copied has more bytes than `bytesMax`. */
export function isLargerThan(bytesMax: number, { value, size }: JsonCopy): boolean {
  if (size * bytesPerCharacterMax <= bytesMax) return false;
  return Buffer.byteLength(JSON.stringify(value)) > bytesMax;
}

/**
 * Copies a value as if it had travelled as JSON: members that are undefined are left out, and the
 * copy shares nothing with the original. This is much faster than writing and parsing JSON text.
 *
 * @throws TypeError where JSON.stringify throws it
 */
export function copyJson(value: unknown): JsonCopy {
  const counter = { size: 0 };
  return { value: copyValue(value, counter), size: counter.size };
}

function copyValue(value: unknown, counter: { size: number }): unknown {
  switch (typeof value) {
    case 'string':
      counter.size += value.length + 2;
      return value;
    case 'number':
      counter.size += numberSize;
      // JSON has no such numbers, and no negative zero.
      return Number.isFinite(value) ? value + 0 : null;
    case 'boolean':
      counter.size += 4;
      return value;
    case 'object':
      if (value === null) {
        counter.size += 4;
        return null;
      }
      if (Array.isArray(value)) return copyList(value, counter);
      return isPlain(value) ? copyObject(value, counter) : copyAsText(value, counter);
    default:
      return copyAsText(value, counter);
  }
}

function copyList(list: readonly unknown[], counter: { size: number }): unknown[] {
  counter.size += 2 + Math.max(0, list.length - 1);
  const copy: unknown[] = [];
  for (const item of list) copy.push(copyValue(item, counter) ?? null);
  return copy;
}

function copyObject(source: object, counter: { size: number }): object {
  counter.size += 2;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(source)) {
    const member = (source as Record<string, unknown>)[name];
    const memberCopy = member === undefined ? undefined : copyValue(member, counter);
    if (memberCopy === undefined) continue;
    counter.size += name.length + 3;
    if (name !== '__proto__') copy[name] = memberCopy;
    else {
      const property = { value: memberCopy, enumerable: true, writable: true, configurable: true };
      Object.defineProperty(copy, name, property);
    }
  }
  return copy;
}

/**
 * Copies a value that is not plain data, such as a date or a number with exact digits, by writing
 * and parsing its JSON text.
 */
function copyAsText(value: unknown, counter: { size: number }): unknown {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) return undefined;
  counter.size += text.length;
  return JSON.parse(text) as unknown;
}

function isPlain(value: object): boolean {
  if ('toJSON' in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && !isRawJson(value);
}
