import type { JsonValue } from '#contracts/vocabulary';

/** What is missing of a value that was made smaller. */
export interface LeftOut {
  items: number;
  fields: number;
  characters: number;
  /** JSON pointers (RFC 6901) of the first places at which something is missing. */
  readonly at: string[];
}

const placesMax = 8;
const pointerCharactersMax = 200;
/** Fields of an object that get less than this are worth nothing: then fewer fields are shown. */
const fieldBytesMin = 48;
/** The longest number is 24 characters, and cannot be made smaller. */
const valueBytesMin = 24;

/**
 * A value that as JSON has at most `bytesMax` bytes (32 or more), and what is missing. Never cut in
 * the middle: lists lose their last items, objects the fields for which there is no room, texts
 * their end. Small fields stay whole, large ones share what is left.
 */
export function shrinkJson(
  value: JsonValue,
  bytesMax: number,
): { value: JsonValue; leftOut: LeftOut } {
  const leftOut: LeftOut = { items: 0, fields: 0, characters: 0, at: [] };
  return { value: shrink(value, { bytesMax, pointer: '', leftOut }), leftOut };
}

interface Room {
  readonly bytesMax: number;
  readonly pointer: string;
  readonly leftOut: LeftOut;
}

export function jsonBytes(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function shrink(value: JsonValue, room: Room): JsonValue {
  if (jsonBytes(value) <= room.bytesMax) return value;
  if (typeof value === 'string') return shrinkText(value, room);
  if (Array.isArray(value)) return shrinkList(value, room);
  if (typeof value === 'object' && value !== null) return shrinkObject(value, room);
  return value; // A number or a word: never larger than any room that is given.
}

function shrinkText(text: string, room: Room): string {
  // Every character takes a byte at least; the quotes and the ellipsis take five.
  let end = Math.min(text.length, Math.max(0, room.bytesMax - 5));
  let shown = text.slice(0, end).toWellFormed();
  for (let over = jsonBytes(shown) + 3 - room.bytesMax; over > 0 && end > 0;) {
    // The dearest characters take six bytes.
    end -= Math.min(end, Math.max(1, Math.ceil(over / 6)));
    if (isLowSurrogate(text, end)) end -= 1;
    shown = text.slice(0, end);
    over = jsonBytes(shown) + 3 - room.bytesMax;
  }
  if (isLowSurrogate(text, end)) shown = text.slice(0, end - 1);
  note(room, 'characters', text.length - shown.length);
  return `${shown}…`;
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}

/** As many items from the first as fit whole; the first one smaller, if not even that fits. */
function shrinkList(list: readonly JsonValue[], room: Room): JsonValue[] {
  const shown: JsonValue[] = [];
  let left = room.bytesMax - 2;
  for (const item of list) {
    const bytes = jsonBytes(item) + (shown.length > 0 ? 1 : 0);
    if (bytes > left) break;
    shown.push(item);
    left -= bytes;
  }
  const [first] = list;
  if (shown.length === 0 && first !== undefined && left >= fieldBytesMin) {
    shown.push(shrink(first, { ...room, bytesMax: left, pointer: `${room.pointer}/0` }));
  }
  note(room, 'items', list.length - shown.length);
  return shown;
}

function shrinkObject(object: Record<string, JsonValue>, room: Room): Record<string, JsonValue> {
  const fields = Object.entries(object).map(([key, value], at) => {
    const keyBytes = jsonBytes(key) + 2; // With its colon, and a comma.
    return { key, value, at, keyBytes, bytes: keyBytes + jsonBytes(value) };
  });
  const affordable = Math.max(1, Math.floor(room.bytesMax / fieldBytesMin));
  // The smallest first: what they do not need is shared by the larger ones.
  const candidates = fields
    .slice(0, affordable)
    .toSorted((one, other) => one.bytes - other.bytes || one.at - other.at);
  let left = room.bytesMax - 2;
  const shown = candidates.flatMap(({ key, value, at, keyBytes, bytes }, done) => {
    const share = Math.floor(left / (candidates.length - done));
    const bytesMax = share - keyBytes;
    if (bytes > share && bytesMax < valueBytesMin) return [];
    const pointer = `${room.pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const fitted = bytes <= share ? value : shrink(value, { ...room, bytesMax, pointer });
    left -= keyBytes + jsonBytes(fitted);
    return [{ key, at, fitted }];
  });
  note(room, 'fields', fields.length - shown.length);
  const inOrder = shown.toSorted((one, other) => one.at - other.at);
  return Object.fromEntries(inOrder.map(({ key, fitted }) => [key, fitted]));
}

function note(
  { pointer, leftOut }: Room,
  what: 'items' | 'fields' | 'characters',
  count: number,
): void {
  if (count === 0) return;
  leftOut[what] += count;
  if (leftOut.at.length < placesMax && pointer.length <= pointerCharactersMax) {
    leftOut.at.push(pointer);
  }
}
