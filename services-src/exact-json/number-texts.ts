import type { JsonValue } from '../contracts/vocabulary.ts';
import { isExact } from './parse-exact-json.ts';

type Schema = Readonly<Record<string, unknown>>;

const { rawJSON: toRawJson } = JSON as unknown as {
  rawJSON(this: void, text: string): object;
};

const integerTextPattern = /^-?(?:0|[1-9]\d{0,399})$/;
const numberTextPattern = /^-?(?:0|[1-9]\d{0,399})(?:\.\d{0,399}[1-9])?$/;
const numberTypes = new Set(['integer', 'number', 'null']);

/**
 * Replaces digits that were given as text by numbers, where the schema takes only a number; for
 * checking a value against its schema. Callers give numbers of more than fifteen digits as text,
 * because most JSON readers change them.
 */
export function readNumberTexts(value: JsonValue, schema: unknown): JsonValue {
  return mapNumberTexts(value, schema, Number) as JsonValue;
}

/**
 * Replaces digits that were given as text by numbers of exactly these digits, where the schema
 * takes only a number. The result is only for `JSON.stringify`.
 */
export function toRawNumbers(value: JsonValue, schema: unknown): unknown {
  return mapNumberTexts(value, schema, toRawJson);
}

function mapNumberTexts(
  value: JsonValue,
  schema: unknown,
  replace: (text: string) => unknown,
): unknown {
  if (!isSchema(schema)) return value;
  if (typeof value === 'string') return isNumberText(value, schema) ? replace(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    if (!isSchema(schema['items'])) return value;
    const items = value.map((item) => mapNumberTexts(item, schema['items'], replace));
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  const properties = isSchema(schema['properties']) ? schema['properties'] : {};
  let hasChanged = false;
  const members = Object.entries(value).map(([name, member]) => {
    const ofMember = Object.hasOwn(properties, name)
      ? properties[name]
      : schema['additionalProperties'];
    const mapped = mapNumberTexts(member, ofMember, replace);
    hasChanged ||= mapped !== member;
    return [name, mapped];
  });
  return hasChanged ? Object.fromEntries(members) : value;
}

function isNumberText(text: string, { type }: Schema): boolean {
  const types = [type].flat();
  const takesNumbersOnly = types.every((each) => numberTypes.has(String(each)));
  if (!takesNumbersOnly) return false;
  const pattern = types.includes('number') ? numberTextPattern : integerTextPattern;
  return types.some((each) => each !== 'null') && isOnlyText(text, pattern);
}

/**
 * Whether the text is the only one for its number that is taken. Rules compare texts, so a deny of
 * 100 must not be passed by 100.0 or 1e2, nor one of 0 by -0.
 */
function isOnlyText(text: string, pattern: RegExp): boolean {
  const value = Number(text);
  return pattern.test(text) && (!isExact(text, value) || String(value) === text);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
