import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject } from '../domain/context.ts';
import { shorten } from './source.ts';

const patternCharactersMax = 500;
/** The deeper a description stands, the less room it gets. */
const descriptionCharactersMax = [1000, 500, 300, 150];
const titleCharactersMax = 200;
/** Of lists of permitted values: `enum` with thousands of them helps nobody to choose. */
const choicesMax = 500;
const valueDepthMax = 20;

const isNumber = (value: JsonValue) => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: JsonValue) => Number.isInteger(value) && Number(value) >= 0;
const isText = (value: JsonValue): value is string => typeof value === 'string';
const isFlag = (value: JsonValue) => typeof value === 'boolean';

/** The keywords without schemas in them that a template keeps, and what they must be (JSON Schema 2020-12). */
const rules: Record<string, (value: JsonValue) => boolean> = {
  format: (value) => isText(value) && value.length <= 100,
  pattern: (value) => isText(value) && isPattern(value),
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minContains: isCount,
  maxContains: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  uniqueItems: isFlag,
  deprecated: isFlag,
  writeOnly: isFlag,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => isNumber(value) && Number(value) > 0,
  contentEncoding: isText,
  contentMediaType: isText,
  dependentRequired: (value) =>
    isObject(value) &&
    Object.values(value).every((names) => Array.isArray(names) && names.every(isText)),
};

/** Say nothing about what is valid, or are read elsewhere. */
const silent = new Set([
  'example',
  'examples',
  'externalDocs',
  'xml',
  'discriminator',
  '$comment',
  '$schema',
  '$id',
  'nullable',
  'readOnly',
  '$anchor',
  '$defs',
  'definitions',
  'id',
  '$dynamicAnchor',
]);

export function isSilentKeyword(keyword: string): boolean {
  return silent.has(keyword) || keyword.startsWith('x-');
}

export function isPlainKeyword(keyword: string): boolean {
  return Object.hasOwn(rules, keyword);
}

export function fitsKeyword(keyword: string, value: JsonValue): boolean {
  return rules[keyword]?.(value) === true;
}

/** Whether a pattern compiles as JSON Schema reads it (2020-12 §6.3.3: with Unicode). */
export function isPattern(pattern: string): boolean {
  if (pattern.length > patternCharactersMax) return false;
  try {
    RegExp(pattern, 'u');
    return true;
  } catch {
    // RegExp has no way of asking but trying.
    return false;
  }
}

export function annotationsOf(schema: JsonObject, depth: number): JsonObject {
  const { title, description } = schema;
  const max = descriptionCharactersMax[depth] ?? descriptionCharactersMax.at(-1)!;
  return {
    ...(typeof title === 'string' && { title: shorten(title, titleCharactersMax) }),
    ...(typeof description === 'string' && {
      description: shorten(description, max),
    }),
  };
}

const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** What authors write where JSON Schema has no such type. */
const otherTypes: Record<string, JsonObject> = {
  any: {},
  file: { type: 'string', format: 'binary' },
  float: { type: 'number' },
  double: { type: 'number' },
  decimal: { type: 'number' },
  int: { type: 'integer' },
  int32: { type: 'integer' },
  int64: { type: 'integer' },
  long: { type: 'integer' },
  bool: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  'date-time': { type: 'string', format: 'date-time' },
  datetime: { type: 'string', format: 'date-time' },
  uuid: { type: 'string', format: 'uuid' },
  text: { type: 'string' },
};

/** `type` as JSON Schema has it; undefined when nothing can be made of it. */
export function readType(type: JsonValue): JsonObject | undefined {
  if (Array.isArray(type)) {
    const known = [...new Set(type)].filter((each) => typeof each === 'string' && types.has(each));
    return known.length > 0 ? { type: known.length === 1 ? known[0]! : known } : undefined;
  }
  if (typeof type !== 'string') return undefined;
  const name = type.trim().toLowerCase();
  if (types.has(name)) return { type: name };
  return Object.hasOwn(otherTypes, name) ? otherTypes[name] : undefined;
}

/** Permitted values in the type of the schema: documents that were YAML once say `true` for `"true"`. */
export function readChoices(values: JsonValue, schema: JsonObject): JsonValue[] | undefined {
  if (!Array.isArray(values)) return undefined;
  const fitting = values.flatMap((value) => {
    const fit = fitValue(value, schema);
    return fit === undefined ? [] : [fit];
  });
  const unique = [...new Map(fitting.map((value) => [JSON.stringify(value), value])).values()];
  return unique.length > 0 && unique.length <= choicesMax ? unique : undefined;
}

/** A value as the type of its schema has it, or undefined when it is not of that type. */
export function fitValue(value: JsonValue, schema: JsonObject): JsonValue | undefined {
  if (!isPlainValue(value)) return undefined;
  const type = schema['type'];
  if (type === undefined) return value;
  const allowed = Array.isArray(type) ? type : [type];
  if (allowed.some((each) => isOfType(value, each))) return value;
  const [only] = allowed.filter((each) => each !== 'null');
  if (only === 'string' && (typeof value === 'number' || typeof value === 'boolean')) {
    return String(value);
  }
  if (typeof value !== 'string') return undefined;
  if (only === 'boolean') return value === 'true' ? true : value === 'false' ? false : undefined;
  const isNumeric = /^-?\d{1,15}(?:\.\d+)?$/.test(value) && isOfType(Number(value), only ?? null);
  return isNumeric ? Number(value) : undefined;
}

function isOfType(value: JsonValue, type: JsonValue): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** JSON that another process can read again: finite numbers, bearable depth, no odd keys. */
function isPlainValue(value: JsonValue, depth = 0): boolean {
  if (depth > valueDepthMax) return false;
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every((item) => isPlainValue(item, depth + 1));
  if (!isObject(value)) return true;
  return Object.entries(value).every(
    ([key, item]) => key !== '__proto__' && isPlainValue(item, depth + 1),
  );
}
