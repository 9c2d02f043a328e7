import type { JsonValue } from '#contracts/vocabulary';

/** Counts what was removed from a value to shrink it. */
export interface LeftOut {
  items: number;
  fields: number;
  characters: number;
  /** JSON pointers (RFC 6901) to the first few places where something was removed. */
  readonly at: string[];
}

const reportedPlacesMax = 8;
const pointerCharactersMax = 200;
/**
 * The fewest bytes to which a field is cut. Less would be useless, so the object is shown with
 * fewer fields instead.
 */
const fieldBytesMin = 48;
/**
 * The fewest bytes for a value: the longest number has 24 characters, and numbers cannot be
 * shortened.
 */
const valueBytesMin = 24;

/**
 * Shrinks a value to at most `bytesMax` bytes of JSON (32 or more) and reports what was removed.
 * The result stays valid JSON: lists lose their last items, objects lose fields, texts lose their
 * end. Small fields stay whole, and large fields share the remaining bytes.
 */
export function shrinkJson(
  value: JsonValue,
  bytesMax: number,
): { value: JsonValue; leftOut: LeftOut } {
  const leftOut: LeftOut = { items: 0, fields: 0, characters: 0, at: [] };
  return { value: shrinkValue(value, { bytesMax, pointer: '', leftOut }), leftOut };
}

interface ShrinkBudget {
  readonly bytesMax: number;
  readonly pointer: string;
  readonly leftOut: LeftOut;
}

export function countJsonBytes(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function shrinkValue(value: JsonValue, budget: ShrinkBudget): JsonValue {
  if (countJsonBytes(value) <= budget.bytesMax) return value;
  if (typeof value === 'string') return shrinkText(value, budget);
  if (Array.isArray(value)) return shrinkList(value, budget);
  if (typeof value === 'object' && value !== null) return shrinkObject(value, budget);
  return value; // Numbers, booleans and null are never larger than the smallest limit.
}

function shrinkText(text: string, budget: ShrinkBudget): string {
  // Every character takes at least one byte; the quotes and the ellipsis take five.
  let end = Math.min(text.length, Math.max(0, budget.bytesMax - 5));
  let shownText = text.slice(0, end).toWellFormed();
  for (
    let excessBytes = countJsonBytes(shownText) + 3 - budget.bytesMax;
    excessBytes > 0 && end > 0;
  ) {
    // An escaped character takes at most six bytes.
    end -= Math.min(end, Math.max(1, Math.ceil(excessBytes / 6)));
    if (isLowSurrogate(text, end)) end -= 1;
    shownText = text.slice(0, end);
    excessBytes = countJsonBytes(shownText) + 3 - budget.bytesMax;
  }
  if (isLowSurrogate(text, end)) shownText = text.slice(0, end - 1);
  countLeftOut(budget, 'characters', text.length - shownText.length);
  return `${shownText}…`;
}

function isLowSurrogate(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff;
}

/**
 * Keeps as many whole items as fit, from the beginning. If not even the first item fits, that item
 * is shrunk.
 */
function shrinkList(list: readonly JsonValue[], budget: ShrinkBudget): JsonValue[] {
  const shownItems: JsonValue[] = [];
  let bytesLeft = budget.bytesMax - 2;
  for (const item of list) {
    const bytes = countJsonBytes(item) + (shownItems.length > 0 ? 1 : 0);
    if (bytes > bytesLeft) break;
    shownItems.push(item);
    bytesLeft -= bytes;
  }
  const [first] = list;
  if (shownItems.length === 0 && first !== undefined && bytesLeft >= fieldBytesMin) {
    shownItems.push(
      shrinkValue(first, { ...budget, bytesMax: bytesLeft, pointer: `${budget.pointer}/0` }),
    );
  }
  countLeftOut(budget, 'items', list.length - shownItems.length);
  return shownItems;
}

function shrinkObject(
  object: Record<string, JsonValue>,
  budget: ShrinkBudget,
): Record<string, JsonValue> {
  const fields = Object.entries(object).map(([key, value], index) => {
    const keyBytes = countJsonBytes(key) + 2; // Two bytes are added for the colon and a comma.
    return { key, value, at: index, keyBytes, bytes: keyBytes + countJsonBytes(value) };
  });
  const fieldCountMax = Math.max(1, Math.floor(budget.bytesMax / fieldBytesMin));
  // The smallest fields come first, so that the larger fields share the bytes that remain.
  const fieldsBySize = fields
    .slice(0, fieldCountMax)
    .toSorted((one, other) => one.bytes - other.bytes || one.at - other.at);
  let bytesLeft = budget.bytesMax - 2;
  const shownFields = fieldsBySize.flatMap(({ key, value, at, keyBytes, bytes }, index) => {
    const share = Math.floor(bytesLeft / (fieldsBySize.length - index));
    const bytesMax = share - keyBytes;
    if (bytes > share && bytesMax < valueBytesMin) return [];
    const pointer = `${budget.pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const fitted = bytes <= share ? value : shrinkValue(value, { ...budget, bytesMax, pointer });
    bytesLeft -= keyBytes + countJsonBytes(fitted);
    return [{ key, at, fitted }];
  });
  countLeftOut(budget, 'fields', fields.length - shownFields.length);
  const fieldsInOrder = shownFields.toSorted((one, other) => one.at - other.at);
  return Object.fromEntries(fieldsInOrder.map(({ key, fitted }) => [key, fitted]));
}

function countLeftOut(
  { pointer, leftOut }: ShrinkBudget,
  unit: 'items' | 'fields' | 'characters',
  count: number,
): void {
  if (count === 0) return;
  leftOut[unit] += count;
  if (leftOut.at.length < reportedPlacesMax && pointer.length <= pointerCharactersMax) {
    leftOut.at.push(pointer);
  }
}
