import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject } from '../../document/domain/context.ts';
import { shortenText } from './source.ts';

const patternCharactersMax = 500;
/** The longest description at each depth of a schema; deeper descriptions get less space. */
const descriptionCharactersMax = [1000, 500, 300, 150];
const titleCharactersMax = 200;
/** The largest number of `enum` values: a longer list does not help callers choose. */
const enumValuesMax = 500;
const valueDepthMax = 20;

const isNumber = (value: JsonValue) => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: JsonValue) => Number.isInteger(value) && Number(value) >= 0;
const isText = (value: JsonValue): value is string => typeof value === 'string';
const isFlag = (value: JsonValue) => typeof value === 'boolean';

/**
 * Keywords that a template keeps, other than those that contain schemas. Each has a check of its
 * value (JSON Schema 2020-12).
 */
const valueChecks: Record<string, (value: JsonValue) => boolean> = {
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

/** Keywords that are left out here: they do not restrict values, or other functions read them. */
const ignoredKeywords = new Set([
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

export function isIgnoredKeyword(keyword: string): boolean {
  return ignoredKeywords.has(keyword) || keyword.startsWith('x-');
}

export function isPlainKeyword(keyword: string): boolean {
  return Object.hasOwn(valueChecks, keyword);
}

export function fitsKeyword(keyword: string, value: JsonValue): boolean {
  return valueChecks[keyword]?.(value) === true;
}

/** Whether JSON Schema accepts the regular expression (2020-12 §6.3.3: with the Unicode flag). */
export function isPattern(pattern: string): boolean {
  if (pattern.length > patternCharactersMax) return false;
  try {
    RegExp(pattern, 'u');
    return true;
  } catch {
    // The pattern is invalid: `RegExp` reports that only by throwing.
    return false;
  }
}

export function annotationsOf(schema: JsonObject, depth: number): JsonObject {
  const { title, description } = schema;
  const charactersMax = descriptionCharactersMax[depth] ?? descriptionCharactersMax.at(-1)!;
  return {
    ...(typeof title === 'string' && { title: shortenText(title, titleCharactersMax) }),
    ...(typeof description === 'string' && {
      description: shortenText(description, charactersMax),
    }),
  };
}

const jsonSchemaTypes = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
]);
/** Type names that authors use although JSON Schema does not define them, and their meaning. */
const typeSynonyms: Record<string, JsonObject> = {
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

/** Converts `type` to a type of JSON Schema; undefined when its meaning is unknown. */
export function readType(type: JsonValue): JsonObject | undefined {
  if (Array.isArray(type)) {
    const knownTypes = [...new Set(type)].filter(
      (each) => typeof each === 'string' && jsonSchemaTypes.has(each),
    );
    return knownTypes.length > 0
      ? { type: knownTypes.length === 1 ? knownTypes[0]! : knownTypes }
      : undefined;
  }
  if (typeof type !== 'string') return undefined;
  const name = type.trim().toLowerCase();
  if (jsonSchemaTypes.has(name)) return { type: name };
  return Object.hasOwn(typeSynonyms, name) ? typeSynonyms[name] : undefined;
}

/**
 * Converts the values of `enum` to the type of the schema: documents converted from YAML often have
 * `true` where they mean the string `"true"`.
 */
export function readChoices(values: JsonValue, schema: JsonObject): JsonValue[] | undefined {
  if (!Array.isArray(values)) return undefined;
  const fittingValues = values.flatMap((value) => {
    const fit = convertValue(value, schema);
    return fit === undefined ? [] : [fit];
  });
  const unique = [
    ...new Map(fittingValues.map((value) => [JSON.stringify(value), value])).values(),
  ];
  return unique.length > 0 && unique.length <= enumValuesMax ? unique : undefined;
}

/** Converts a value to the type of its schema; undefined when that is impossible. */
export function convertValue(value: JsonValue, schema: JsonObject): JsonValue | undefined {
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

/**
 * Whether other components can parse the value: its numbers are finite, its depth is limited, and
 * it has no keys such as `__proto__`.
 */
function isPlainValue(value: JsonValue, depth = 0): boolean {
  if (depth > valueDepthMax) return false;
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every((item) => isPlainValue(item, depth + 1));
  if (!isObject(value)) return true;
  return Object.entries(value).every(
    ([key, item]) => key !== '__proto__' && isPlainValue(item, depth + 1),
  );
}
