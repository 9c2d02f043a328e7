import type { JsonValue } from '../contracts/vocabulary.ts';
import { violationOf } from './exact-numbers.ts';
import { isSchema, readNumberSchema } from './number-schema.ts';
import type { Schema } from './number-schema.ts';
import { isExact } from './parse-exact-json.ts';

const { rawJSON: toRawJson } = JSON as unknown as {
  rawJSON(this: void, text: string): object;
};

const integerTextPattern = /^-?(?:0|[1-9]\d{0,399})$/;
const numberTextPattern = /^-?(?:0|[1-9]\d{0,399})(?:\.\d{0,399}[1-9])?$/;

/** A number given as text that its schema forbids. */
export interface NumberIssue {
  /** A dotted path such as `ids.0`. */
  readonly path: string;
  readonly message: string;
}

const issuesMax = 20;

/**
 * Replaces digits that were given as text by numbers, where the schema takes only a number. The
 * result is for checking a value against its schema. Callers give numbers of more than fifteen
 * digits as text, because most JSON readers change such numbers. Numbers that doubles cannot hold
 * are checked by their digits: `issues` lists those that their schema forbids, at most twenty.
 */
export function readNumberTexts(
  value: JsonValue,
  schema: unknown,
): { readonly value: JsonValue; readonly issues: readonly NumberIssue[] } {
  const issues: NumberIssue[] = [];
  const read = (text: string, { schema: ofNumber, path }: NumberPlace) => {
    const number = Number(text);
    if (issues.length === issuesMax || isExact(text, number)) return number;
    const message = violationOf(text, ofNumber);
    if (message !== undefined) issues.push({ path: toPathText(path), message });
    return number;
  };
  return { value: mapNumberTexts(value, { schema, path: undefined }, read) as JsonValue, issues };
}

/**
 * Replaces digits that were given as text by numbers of exactly these digits, where the schema
 * takes only a number. The result is only for `JSON.stringify`.
 */
export function toRawNumbers(value: JsonValue, schema: unknown): unknown {
  return mapNumberTexts(value, { schema, path: undefined }, (text) => toRawJson(text));
}

/** The names and indexes that lead to a value, the last one first. */
interface Path {
  readonly name: string | number;
  readonly before: Path | undefined;
}

interface Place<OfSchema> {
  readonly schema: OfSchema;
  readonly path: Path | undefined;
}

function toPathText(path: Path | undefined): string {
  const names: (string | number)[] = [];
  for (let each = path; each !== undefined; each = each.before) names.unshift(each.name);
  return names.join('.');
}

type NumberPlace = Place<Schema>;
type Replace = (text: string, place: NumberPlace) => unknown;

function mapNumberTexts(
  value: JsonValue,
  { schema: givenSchema, path }: Place<unknown>,
  replace: Replace,
): unknown {
  if (!isSchema(givenSchema)) return value;
  if (typeof value === 'string') {
    const place = { schema: givenSchema, path };
    return isNumberText(value, givenSchema) ? replace(value, place) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const { schema } = readNumberSchema(givenSchema);
  if (Array.isArray(value)) {
    const { items } = schema;
    if (!isSchema(items)) return value;
    const mapped = value.map((item, name) =>
      mapNumberTexts(item, { schema: items, path: { name, before: path } }, replace),
    );
    return mapped.some((item, at) => item !== value[at]) ? mapped : value;
  }
  const properties = isSchema(schema['properties']) ? schema['properties'] : {};
  let hasChanged = false;
  const members = Object.entries(value).map(([name, member]) => {
    const memberSchema = Object.hasOwn(properties, name)
      ? properties[name]
      : schema['additionalProperties'];
    const place = { schema: memberSchema, path: { name, before: path } };
    const mapped = mapNumberTexts(member, place, replace);
    hasChanged ||= mapped !== member;
    return [name, mapped];
  });
  return hasChanged ? Object.fromEntries(members) : value;
}

function isNumberText(text: string, schema: Schema): boolean {
  const { takes } = readNumberSchema(schema);
  if (takes === undefined) return false;
  return isOnlyText(text, takes === 'number' ? numberTextPattern : integerTextPattern);
}

/**
 * Whether the text is the only accepted form of its number. Rules compare texts: 100.0 or 1e2 must
 * not evade a deny of 100, nor -0 a deny of 0.
 */
function isOnlyText(text: string, pattern: RegExp): boolean {
  const value = Number(text);
  return pattern.test(text) && (!isExact(text, value) || String(value) === text);
}
