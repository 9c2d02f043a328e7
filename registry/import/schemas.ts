import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject, Place } from '../domain/context.ts';
import { pointerTo } from '../domain/findings.ts';
import {
  annotationsOf,
  fitValue,
  fitsKeyword,
  isPattern,
  isPlainKeyword,
  isSilentKeyword,
  readChoices,
  readType,
} from './keywords.ts';
import { mergeAllOf } from './merge-all-of.ts';
import { hopsMax, isUnsafeName, lookUp } from './source.ts';
import type { Source } from './source.ts';

/** How far the schemas of one operation may still unfold. */
export interface SchemaBudget {
  nodes: number;
  readonly depthMax: number;
  /** Set where something was left open because of depth. */
  isCut: boolean;
  /** How often a schema became one that accepts more. */
  opened: number;
  readonly work: Work;
}

/** What is left of the time for a document, in schemas. */
export interface Work {
  left: number;
}

interface Position {
  readonly budget: SchemaBudget;
  readonly depth: number;
  /** References that are being unfolded. */
  readonly open: readonly string[];
}

const singleSchemas = [
  'items',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'contains',
  'not',
  'if',
  'then',
  'else',
];
const schemaMaps = ['properties', 'patternProperties', 'dependentSchemas'];
const schemaLists = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const composed = new Set([...singleSchemas, ...schemaMaps, ...schemaLists]);
const readAlone = new Set([
  '$ref',
  'type',
  'enum',
  'const',
  'default',
  'required',
  'title',
  'description',
]);

/**
 * A schema of OpenAPI 3.0 or 3.1 as JSON Schema 2020-12, self-contained, as far as it is about
 * requests: references are replaced by what they name, read-only properties are left out. What
 * JSON Schema does not know is dropped, and a schema that contains itself accepts anything from the
 * second round on. Both make it accept more, never less: where that is so, `oneOf` becomes `anyOf`.
 */
export function convertSchema(source: Source, at: Place, budget: SchemaBudget): JsonObject {
  const schema = convert(source, at, { budget, depth: 0, open: [] });
  if (isObject(schema)) return schema;
  // `true` and `false`: OpenAPI parameters and bodies are objects.
  return schema === false ? { not: {} } : {};
}

function convert(source: Source, at: Place, position: Position): JsonValue {
  const { budget, depth, open } = position;
  if (typeof at.value === 'boolean') return at.value;
  if (!isObject(at.value)) {
    source.notes.warn('schema_opened', at.path, 'This is no schema; any value is accepted.');
    budget.opened += 1;
    return {};
  }
  budget.nodes -= 1;
  budget.work.left -= 1;
  if (budget.nodes < 0) return {};
  if (depth > budget.depthMax) {
    budget.isCut = true;
    budget.opened += 1;
    return shallow(source, at.value, depth);
  }
  if (!Object.hasOwn(at.value, '$ref'))
    return convertKeywords(source, at as Place<JsonObject>, position);

  const path = [...at.path, '$ref'];
  const target = lookUp(source, at.value['$ref'] ?? null, path);
  if (target === undefined) {
    budget.opened += 1;
    return annotationsOf(at.value, depth);
  }
  const name = pointerTo(target.path);
  if (open.includes(name) || open.length >= hopsMax) {
    const message = `#${name.slice(0, 200)} contains itself; from here on any value is accepted.`;
    source.notes.info('ref_cycle', path, message);
    budget.opened += 1;
    return annotationsOf(at.value, depth);
  }
  const referred = convert(source, target, { budget, depth, open: [...open, name] });
  // OpenAPI 3.0 §4.8.23: what stands beside a reference is ignored.
  if (source.version === '3.0' || Object.keys(at.value).length === 1) return referred;
  const beside = convertKeywords(source, at as Place<JsonObject>, position);
  return mergeAllOf({ ...beside, allOf: [referred] });
}

function convertKeywords(source: Source, at: Place<JsonObject>, position: Position): JsonObject {
  const { budget } = position;
  const openedBefore = budget.opened;
  const schema: JsonObject = {
    ...typeOf(source, at),
    ...annotationsOf(at.value, position.depth),
  };
  for (const [keyword, value] of Object.entries(at.value)) {
    if (readAlone.has(keyword)) continue;
    if (isPlainKeyword(keyword) && fitsKeyword(keyword, value)) schema[keyword] = value;
    else if (composed.has(keyword)) {
      const place = { value, path: [...at.path, keyword] };
      const part = convertComposed(source, place, { keyword, position });
      if (part !== undefined) schema[keyword] = part;
    } else if (!isSilentKeyword(keyword) && !isBound(keyword, value)) {
      const message = `"${keyword.slice(0, 100)}" is left out: JSON Schema has no such keyword, or not with this value.`;
      source.notes.info('schema_changed', [...at.path, keyword], message);
      budget.opened += 1;
    }
  }
  if (budget.opened > openedBefore) openNegations(schema);
  readBounds(schema, at.value);
  readBinary(schema);
  readValues(source, at, schema);
  if (['type', 'enum', 'const'].some((keyword) => keyword in at.value && !(keyword in schema))) {
    budget.opened += 1;
  }
  readRequired(schema, at.value);
  return mergeAllOf(isNullable(source, at.value) ? nullable(schema) : schema);
}

function typeOf(source: Source, at: Place<JsonObject>): JsonObject {
  const { type } = at.value;
  if (type !== undefined && type !== null) {
    const known = readType(type);
    if (known === undefined) {
      source.notes.info(
        'schema_changed',
        [...at.path, 'type'],
        'This is no type; any is accepted.',
      );
    }
    return known ?? {};
  }
  if (isObject(at.value['properties'])) return { type: 'object' };
  return isObject(at.value['items']) ? { type: 'array' } : {};
}

function convertComposed(
  source: Source,
  { value, path }: Place,
  { keyword, position }: { keyword: string; position: Position },
): JsonValue | undefined {
  // Alternatives say the same thing in other ways, so they do not count as a level.
  const isBranch = schemaLists.includes(keyword) && keyword !== 'prefixItems';
  const inner = isBranch ? position : { ...position, depth: position.depth + 1 };
  const convertAt = (item: JsonValue, step?: string | number) =>
    convert(source, { value: item, path: step === undefined ? path : [...path, step] }, inner);
  if (singleSchemas.includes(keyword)) {
    return isObject(value) || typeof value === 'boolean' ? convertAt(value) : undefined;
  }
  if (schemaLists.includes(keyword)) {
    if (!Array.isArray(value) || value.length === 0) return undefined;
    return takeWhileLeft(value, position).map((item, index) => convertAt(item, index));
  }
  if (!isObject(value)) return undefined;
  const kept = takeWhileLeft(Object.entries(value), position).filter(([name, item]) =>
    isKept(source, { value: item, path: [...path, name] }, { keyword, name }),
  );
  return Object.fromEntries(kept.map(([name, item]) => [name, convertAt(item, name)]));
}

/** What refuses values that another schema accepts would refuse more, now that one accepts more. */
function openNegations(schema: JsonObject): void {
  for (const keyword of [
    'not',
    'if',
    'then',
    'else',
    'unevaluatedProperties',
    'unevaluatedItems',
  ]) {
    delete schema[keyword];
  }
  const { oneOf } = schema;
  if (oneOf === undefined) return;
  delete schema['oneOf'];
  if (!('anyOf' in schema)) schema['anyOf'] = oneOf;
  else
    schema['allOf'] = [
      ...(Array.isArray(schema['allOf']) ? schema['allOf'] : []),
      { anyOf: oneOf },
    ];
}

/** More than the budget has will not be used: the whole schema is converted again, less deeply. */
function takeWhileLeft<Item>(items: readonly Item[], { budget }: Position): readonly Item[] {
  const left = Math.max(0, budget.nodes);
  if (items.length <= left) return items;
  budget.nodes = -1;
  budget.work.left -= items.length;
  return [];
}

function isKept(
  source: Source,
  at: Place,
  { keyword, name }: { keyword: string; name: string },
): boolean {
  if (isUnsafeName(name) || (keyword === 'patternProperties' && !isPattern(name))) {
    source.notes.info('schema_changed', at.path, `"${name.slice(0, 100)}" is left out.`);
    return false;
  }
  // OpenAPI §4.8.24.1: a read-only property is not sent in a request.
  return keyword !== 'properties' || !(isObject(at.value) && at.value['readOnly'] === true);
}

/** `exclusiveMinimum: true` makes `minimum` exclusive in 3.0; 2020-12 has a number of its own. */
function isBound(keyword: string, value: JsonValue): boolean {
  return /^exclusiveM(?:in|ax)imum$/.test(keyword) && typeof value === 'boolean';
}

function readBounds(schema: JsonObject, given: JsonObject): void {
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const limit = schema[bound];
    if (given[exclusive] !== true || limit === undefined) continue;
    schema[exclusive] = limit;
    delete schema[bound];
  }
}

/** OpenAPI 3.1 §4.8.14.2 says by these what 3.0 says by `format`. */
function readBinary(schema: JsonObject): void {
  if (schema['format'] === 'binary') schema['contentMediaType'] ??= 'application/octet-stream';
  if (schema['format'] === 'byte') schema['contentEncoding'] ??= 'base64';
}

function readValues(source: Source, at: Place<JsonObject>, schema: JsonObject): void {
  const { enum: choices, const: fixed, default: fallback } = at.value;
  if (choices !== undefined) {
    const fitting = readChoices(choices, schema);
    if (fitting) schema['enum'] = fitting;
    else
      source.notes.info(
        'schema_changed',
        [...at.path, 'enum'],
        'The list is left out: it names no value of the type, or too many.',
      );
  }
  if (fixed !== undefined) {
    const value = fitValue(fixed, schema);
    if (value !== undefined) schema['const'] = value;
  }
  if (fallback === undefined) return;
  const value = fitValue(fallback, schema);
  const isChoice = !Array.isArray(schema['enum']) || schema['enum'].includes(value ?? null);
  if (value !== undefined && isChoice) schema['default'] = value;
}

/** Only properties that can be sent can be required. */
function readRequired(schema: JsonObject, given: JsonObject): void {
  const properties = isObject(given['properties']) ? given['properties'] : {};
  const sendable = (name: JsonValue): name is string =>
    typeof name === 'string' && !isUnsafeName(name) && !isReadOnly(properties, name);
  const required = Array.isArray(given['required']) ? given['required'].filter(sendable) : [];
  if (required.length > 0) schema['required'] = [...new Set(required)];
}

function isReadOnly(properties: JsonObject, name: string): boolean {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isObject(property) && property['readOnly'] === true;
}

function isNullable(source: Source, schema: JsonObject): boolean {
  return source.version === '3.0' && schema['nullable'] === true;
}

function nullable(schema: JsonObject): JsonObject {
  const { type, enum: choices } = schema;
  if (type !== undefined) {
    const types = Array.isArray(type) ? type : [type];
    return {
      ...schema,
      type: [...new Set([...types, 'null'])],
      ...(Array.isArray(choices) && !choices.includes(null) && { enum: [...choices, null] }),
    };
  }
  const { title, description, ...rest } = schema;
  if (Object.keys(rest).length === 0) return schema;
  const annotations = {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  };
  return { ...annotations, anyOf: [rest, { type: 'null' }] };
}

/** What is left of a schema that is not unfolded further: its type, so that no object is taken for a text. */
function shallow(source: Source, schema: JsonObject, depth: number): JsonObject {
  const type =
    isObject(schema) && typeof schema['type'] === 'string' ? readType(schema['type']) : {};
  const kept = { ...type, ...annotationsOf(schema, depth) };
  return isNullable(source, schema) ? nullable(kept) : kept;
}
