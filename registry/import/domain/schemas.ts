import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { pointerTo } from '../../document/domain/findings.ts';
import {
  annotationsOf,
  convertValue,
  fitsKeyword,
  isPattern,
  isPlainKeyword,
  isIgnoredKeyword,
  readChoices,
  readType,
} from './keywords.ts';
import { mergeAllOf } from './merge-all-of.ts';
import { referencesMax, isUnsafeName, lookUpReference } from './source.ts';
import type { ImportSource } from './source.ts';

/** The work that is left for the schemas of one operation, and the cuts that stayed within it. */
export interface SchemaBudget {
  nodes: number;
  readonly depthMax: number;
  /** Becomes true when a schema is cut at the depth limit. */
  isCut: boolean;
  /** Counts the schemas that accept more values than the source says. */
  opened: number;
  readonly work: WorkBudget;
}

/** How many schemas the import of this document may still convert, which limits its duration. */
export interface WorkBudget {
  left: number;
}

interface Position {
  readonly budget: SchemaBudget;
  readonly depth: number;
  /**
   * The references that were followed to reach this schema. A reference that occurs in the list
   * again means that the schema contains itself.
   */
  readonly openRefs: readonly string[];
}

const singleSchemaKeywords = [
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
const schemaMapKeywords = ['properties', 'patternProperties', 'dependentSchemas'];
const schemaListKeywords = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const keywordsWithSchemas = new Set([
  ...singleSchemaKeywords,
  ...schemaMapKeywords,
  ...schemaListKeywords,
]);
const keywordsReadSeparately = new Set([
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
 * Converts a schema of OpenAPI 3.0 or 3.1 to a self-contained schema of JSON Schema 2020-12 for
 * requests. References are replaced by their targets, and read-only properties are left out.
 * Keywords that JSON Schema does not define are dropped. In a schema that contains itself, the
 * inner occurrence accepts anything. A converted schema may therefore accept more than the source
 * says, but never less; where `oneOf` would accept less, `anyOf` replaces it.
 */
export function convertSchema(
  source: ImportSource,
  node: DocumentNode,
  budget: SchemaBudget,
): JsonObject {
  const schema = convertNode(source, node, { budget, depth: 0, openRefs: [] });
  if (isObject(schema)) return schema;
  // JSON Schema also allows `true` and `false`, but the schema of a parameter or body must be an
  // object.
  return schema === false ? { not: {} } : {};
}

function convertNode(source: ImportSource, node: DocumentNode, position: Position): JsonValue {
  const { budget, depth, openRefs: open } = position;
  if (typeof node.value === 'boolean') return node.value;
  if (!isObject(node.value)) {
    source.notes.warn('schema_opened', node.path, 'This is no schema; any value is accepted.');
    budget.opened += 1;
    return {};
  }
  budget.nodes -= 1;
  budget.work.left -= 1;
  if (budget.nodes < 0) return {};
  if (depth > budget.depthMax) {
    budget.isCut = true;
    budget.opened += 1;
    return cutToType(source, node.value, depth);
  }
  if (!Object.hasOwn(node.value, '$ref'))
    return convertKeywords(source, node as DocumentNode<JsonObject>, position);

  const path = [...node.path, '$ref'];
  const target = lookUpReference(source, node.value['$ref'] ?? null, path);
  if (target === undefined) {
    budget.opened += 1;
    return annotationsOf(node.value, depth);
  }
  const name = pointerTo(target.path);
  if (open.includes(name) || open.length >= referencesMax) {
    const message = `#${name.slice(0, 200)} contains itself; from here on any value is accepted.`;
    source.notes.info('ref_cycle', path, message);
    budget.opened += 1;
    return annotationsOf(node.value, depth);
  }
  const convertedTarget = convertNode(source, target, { budget, depth, openRefs: [...open, name] });
  // Keywords beside a reference are ignored in OpenAPI 3.0 (§4.8.23).
  if (source.version === '3.0' || Object.keys(node.value).length === 1) return convertedTarget;
  const otherKeywords = convertKeywords(source, node as DocumentNode<JsonObject>, position);
  return mergeAllOf({ ...otherKeywords, allOf: [convertedTarget] });
}

function convertKeywords(
  source: ImportSource,
  node: DocumentNode<JsonObject>,
  position: Position,
): JsonObject {
  const { budget } = position;
  const openedCountBefore = budget.opened;
  const schema: JsonObject = {
    ...convertedTypeOf(source, node),
    ...annotationsOf(node.value, position.depth),
  };
  for (const [keyword, value] of Object.entries(node.value)) {
    if (keywordsReadSeparately.has(keyword)) continue;
    if (isPlainKeyword(keyword) && fitsKeyword(keyword, value)) schema[keyword] = value;
    else if (keywordsWithSchemas.has(keyword)) {
      const childNode = { value, path: [...node.path, keyword] };
      const convertedKeyword = convertKeywordWithSchemas(source, childNode, { keyword, position });
      if (convertedKeyword !== undefined) schema[keyword] = convertedKeyword;
    } else if (!isIgnoredKeyword(keyword) && !isBound(keyword, value)) {
      const message = `"${keyword.slice(0, 100)}" is left out: JSON Schema has no such keyword, or not with this value.`;
      source.notes.info('schema_changed', [...node.path, keyword], message);
      budget.opened += 1;
    }
  }
  if (budget.opened > openedCountBefore) relaxNegations(schema);
  readBounds(schema, node.value);
  readBinary(schema);
  readValues(source, node, schema);
  if (['type', 'enum', 'const'].some((keyword) => keyword in node.value && !(keyword in schema))) {
    budget.opened += 1;
  }
  readRequired(schema, node.value);
  return mergeAllOf(isNullable(source, node.value) ? toNullable(schema) : schema);
}

function convertedTypeOf(source: ImportSource, node: DocumentNode<JsonObject>): JsonObject {
  const { type } = node.value;
  if (type !== undefined && type !== null) {
    const knownType = readType(type);
    if (knownType === undefined) {
      source.notes.info(
        'schema_changed',
        [...node.path, 'type'],
        'This is no type; any is accepted.',
      );
    }
    return knownType ?? {};
  }
  if (isObject(node.value['properties'])) return { type: 'object' };
  return isObject(node.value['items']) ? { type: 'array' } : {};
}

function convertKeywordWithSchemas(
  source: ImportSource,
  { value, path }: DocumentNode,
  { keyword, position }: { keyword: string; position: Position },
): JsonValue | undefined {
  // Alternatives such as `anyOf` describe the same value, so they are not a deeper level.
  const isBranch = schemaListKeywords.includes(keyword) && keyword !== 'prefixItems';
  const innerPosition = isBranch ? position : { ...position, depth: position.depth + 1 };
  const convertItemAt = (item: JsonValue, step?: string | number) =>
    convertNode(
      source,
      { value: item, path: step === undefined ? path : [...path, step] },
      innerPosition,
    );
  if (singleSchemaKeywords.includes(keyword)) {
    return isObject(value) || typeof value === 'boolean' ? convertItemAt(value) : undefined;
  }
  if (schemaListKeywords.includes(keyword)) {
    if (!Array.isArray(value) || value.length === 0) return undefined;
    return takeWithinBudget(value, position).map((item, index) => convertItemAt(item, index));
  }
  if (!isObject(value)) return undefined;
  const keptEntries = takeWithinBudget(Object.entries(value), position).filter(([name, item]) =>
    isKept(source, { value: item, path: [...path, name] }, { keyword, name }),
  );
  return Object.fromEntries(keptEntries.map(([name, item]) => [name, convertItemAt(item, name)]));
}

/**
 * Removes `not` and similar keywords, and turns `oneOf` into `anyOf`. The converted schemas inside
 * these keywords may accept more than the source says, so the keywords would refuse valid values.
 */
function relaxNegations(schema: JsonObject): void {
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

/**
 * Returns the items, or none when they exceed the budget. An exceeded budget makes the caller
 * discard the result and convert the schema again with fewer levels.
 */
function takeWithinBudget<Item>(items: readonly Item[], { budget }: Position): readonly Item[] {
  const nodesLeft = Math.max(0, budget.nodes);
  if (items.length <= nodesLeft) return items;
  budget.nodes = -1;
  budget.work.left -= items.length;
  return [];
}

function isKept(
  source: ImportSource,
  node: DocumentNode,
  { keyword, name }: { keyword: string; name: string },
): boolean {
  if (isUnsafeName(name) || (keyword === 'patternProperties' && !isPattern(name))) {
    source.notes.info('schema_changed', node.path, `"${name.slice(0, 100)}" is left out.`);
    return false;
  }
  // Requests do not contain read-only properties (OpenAPI §4.8.24.1).
  return keyword !== 'properties' || !(isObject(node.value) && node.value['readOnly'] === true);
}

/**
 * Whether the keyword is an exclusive bound in the form of OpenAPI 3.0, where `exclusiveMinimum:
 * true` makes `minimum` exclusive. In JSON Schema 2020-12 `exclusiveMinimum` is a number.
 */
function isBound(keyword: string, value: JsonValue): boolean {
  return /^exclusiveM(?:in|ax)imum$/.test(keyword) && typeof value === 'boolean';
}

function readBounds(schema: JsonObject, source: JsonObject): void {
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    const limit = schema[bound];
    if (source[exclusive] !== true || limit === undefined) continue;
    schema[exclusive] = limit;
    delete schema[bound];
  }
}

/**
 * Converts `format: binary` and `format: byte` of OpenAPI 3.0 to the keywords that OpenAPI 3.1 uses
 * (§4.8.14.2).
 */
function readBinary(schema: JsonObject): void {
  if (schema['format'] === 'binary') schema['contentMediaType'] ??= 'application/octet-stream';
  if (schema['format'] === 'byte') schema['contentEncoding'] ??= 'base64';
}

function readValues(source: ImportSource, node: DocumentNode<JsonObject>, schema: JsonObject) {
  const { enum: choices, const: fixed, default: defaultValue } = node.value;
  if (choices !== undefined) {
    const fittingChoices = readChoices(choices, schema);
    if (fittingChoices) schema['enum'] = fittingChoices;
    else
      source.notes.info(
        'schema_changed',
        [...node.path, 'enum'],
        'The list is left out: it names no value of the type, or too many.',
      );
  }
  if (fixed !== undefined) {
    const value = convertValue(fixed, schema);
    if (value !== undefined) schema['const'] = value;
  }
  if (defaultValue === undefined) return;
  const value = convertValue(defaultValue, schema);
  const isChoice = !Array.isArray(schema['enum']) || schema['enum'].includes(value ?? null);
  if (value !== undefined && isChoice) schema['default'] = value;
}

/** Keeps in `required` only properties that requests can contain. */
function readRequired(schema: JsonObject, source: JsonObject): void {
  const properties = isObject(source['properties']) ? source['properties'] : {};
  const isSendable = (name: JsonValue): name is string =>
    typeof name === 'string' && !isUnsafeName(name) && !isReadOnly(properties, name);
  const required = Array.isArray(source['required']) ? source['required'].filter(isSendable) : [];
  if (required.length > 0) schema['required'] = [...new Set(required)];
}

function isReadOnly(properties: JsonObject, name: string): boolean {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isObject(property) && property['readOnly'] === true;
}

function isNullable(source: ImportSource, schema: JsonObject): boolean {
  return source.version === '3.0' && schema['nullable'] === true;
}

function toNullable(schema: JsonObject): JsonObject {
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

/**
 * Cuts a schema at the depth limit. Only its type remains, so that a caller still sees whether the
 * value is an object.
 */
function cutToType(source: ImportSource, schema: JsonObject, depth: number): JsonObject {
  const type =
    isObject(schema) && typeof schema['type'] === 'string' ? readType(schema['type']) : {};
  const keptSchema = { ...type, ...annotationsOf(schema, depth) };
  return isNullable(source, schema) ? toNullable(keptSchema) : keptSchema;
}
