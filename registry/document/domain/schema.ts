import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AnySchema } from 'ajv/dist/2020.js';

import type { JsonValue } from '#contracts/vocabulary';
import { TooCostly, compilePattern, createSchemaValidator } from '#json-schema';
import { isObject } from './context.ts';
import type { CompileContext, JsonObject, DocumentNode } from './context.ts';
import { lookUpReference } from './references.ts';

/**
 * The largest schema after its references are replaced: each reference copies its target, so a few
 * lines can become a very large schema.
 */
export const schemaNodesMax = 50_000;
const patternCharactersMax = 500;

/**
 * Keywords whose value is one schema, a list of schemas, or a map of schemas (JSON Schema 2020-12).
 */
const schemaKeywords = new Set([
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
]);
const schemaListKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const schemaMapKeywords = new Set(['properties', 'patternProperties', 'dependentSchemas']);
const keywordsWithoutSchemas = new Set([
  'type',
  'enum',
  'const',
  'default',
  'title',
  'description',
  'format',
  'required',
  'dependentRequired',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
  'readOnly',
  'writeOnly',
  'deprecated',
  'contentEncoding',
  'contentMediaType',
]);
/**
 * Keywords that are left out because they do not restrict values and would only enlarge the
 * compiled template.
 */
const droppedKeywords = new Set([
  'example',
  'examples',
  'externalDocs',
  'xml',
  'discriminator',
  '$comment',
]);
const annotationKeywords = new Set([
  'title',
  'description',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

/**
 * A self-contained copy of a schema: each reference is replaced by its target, so that policy and
 * agents need no second document. In a schema that contains itself, the inner occurrence accepts
 * anything.
 */
export function expandSchema(
  context: CompileContext,
  node: DocumentNode,
  openReferences: readonly string[] = [],
): JsonValue | undefined {
  const { findings, budget } = context;
  if (typeof node.value === 'boolean') return node.value;
  if (!isObject(node.value)) {
    findings.error('schema_invalid', node.path, 'A schema must be an object, true or false.');
    return undefined;
  }
  budget.schemaNodes -= 1;
  if (budget.schemaNodes < 0) {
    // Reported only once, because every later reference exceeds the limit too.
    if (budget.schemaNodes === -1) {
      const message = `The schemas unfold to more than ${schemaNodesMax} parts. Describe only what callers need.`;
      findings.error('too_complex', node.path.slice(0, 3), message);
    }
    return undefined;
  }
  const expanded: JsonObject = {};
  for (const [keyword, value] of Object.entries(node.value)) {
    if (keyword === '$ref') continue;
    const part = expandKeyword(
      context,
      { value, path: [...node.path, keyword] },
      { keyword, open: openReferences },
    );
    if (part !== undefined) expanded[keyword] = part;
  }
  removeReadOnlyProperties(expanded);
  if (!('$ref' in node.value)) return expanded;
  return mergeReference(context, {
    at: node as DocumentNode<JsonObject>,
    siblingKeywords: expanded,
    open: openReferences,
  });
}

/**
 * Removes read-only properties: these schemas describe requests, and requests do not contain
 * read-only properties (OpenAPI 3.1.0 §4.8.24).
 */
function removeReadOnlyProperties(schema: JsonObject): void {
  const { properties, required } = schema;
  if (!isObject(properties)) return;
  const isReadOnly = (name: unknown) => {
    const property = Object.hasOwn(properties, String(name)) ? properties[String(name)] : null;
    return isObject(property) && property['readOnly'] === true;
  };
  if (!Object.keys(properties).some(isReadOnly)) return;
  schema['properties'] = Object.fromEntries(
    Object.entries(properties).filter(([name]) => !isReadOnly(name)),
  );
  if (Array.isArray(required)) schema['required'] = required.filter((name) => !isReadOnly(name));
}

function expandKeyword(
  context: CompileContext,
  { value, path }: DocumentNode,
  { keyword, open }: { keyword: string; open: readonly string[] },
): JsonValue | undefined {
  if (keywordsWithoutSchemas.has(keyword)) return value;
  if (schemaKeywords.has(keyword)) return expandSchema(context, { value, path }, open);
  if (schemaListKeywords.has(keyword) && Array.isArray(value)) {
    return value.map(
      (item, index) => expandSchema(context, { value: item, path: [...path, index] }, open) ?? true,
    );
  }
  if (schemaMapKeywords.has(keyword) && isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        expandSchema(context, { value: item, path: [...path, name] }, open) ?? true,
      ]),
    );
  }
  reportKeyword(context, { value, path }, keyword);
  return undefined;
}

function reportKeyword(
  { findings }: CompileContext,
  { path }: DocumentNode,
  keyword: string,
): void {
  if (droppedKeywords.has(keyword) || keyword.startsWith('x-')) return;
  if (keyword === 'nullable') {
    const message =
      '"nullable" is of OpenAPI 3.0 and ignored. Write type: [string, "null"] instead.';
    findings.warn('schema_keyword_unknown', path, message);
    return;
  }
  if (schemaListKeywords.has(keyword) || schemaMapKeywords.has(keyword)) {
    findings.error(
      'schema_invalid',
      path,
      `"${keyword}" holds schemas in a ${schemaListKeywords.has(keyword) ? 'list' : 'map'}.`,
    );
    return;
  }
  findings.warn(
    'schema_keyword_unknown',
    path,
    `"${keyword}" is ignored. Remove it, or express it with the keywords of JSON Schema.`,
  );
}

interface ReferenceUse {
  readonly at: DocumentNode<JsonObject>;
  readonly siblingKeywords: JsonObject;
  readonly open: readonly string[];
}

function mergeReference(
  context: CompileContext,
  { at, siblingKeywords: siblings, open }: ReferenceUse,
): JsonValue | undefined {
  const path = [...at.path, '$ref'];
  const name = at.value['$ref'] ?? null;
  const target = lookUpReference(context, { value: name, path });
  if (target === undefined || typeof name !== 'string') return undefined;
  if (open.includes(name)) {
    const message = `${name} contains itself; from here on any value is accepted.`;
    context.findings.warn('ref_cycle', path, message);
    return siblings;
  }
  const targetSchema = expandSchema(context, target, [...open, name]);
  if (!isObject(targetSchema)) return targetSchema;
  const restrictsValues = Object.keys(siblings).some((keyword) => !annotationKeywords.has(keyword));
  return restrictsValues
    ? { ...siblings, allOf: [targetSchema] }
    : { ...targetSchema, ...siblings };
}

let sharedValidators: { forms: Ajv2020; values: Ajv2020 } | undefined;

function getValidators() {
  sharedValidators ??= {
    forms: new Ajv2020({ strict: false, validateFormats: false, logger: false }),
    values: createSchemaValidator({ allErrors: false }),
  };
  return sharedValidators;
}

/** Reports what would make a JSON Schema validator refuse the schema. */
export function checkSchema(
  { findings, checkedSchemas }: CompileContext,
  { value, path }: DocumentNode,
): boolean {
  const problem = cachedProblemOf(checkedSchemas, `schema ${JSON.stringify(value)}`, () =>
    schemaProblemOf(value),
  );
  if (problem === undefined) return true;
  findings.error('schema_invalid', path, problem);
  return false;
}

function schemaProblemOf(schema: JsonValue): string | undefined {
  const { forms } = getValidators();
  if (forms.validateSchema(schema as AnySchema) !== true) {
    const [problem] = forms.errors ?? [];
    const placeSentence = problem?.instancePath ? ` at ${problem.instancePath}` : '';
    return `The schema${placeSentence} ${problem?.message ?? 'is not valid'}.`;
  }
  const pattern = findUnusablePattern(schema);
  return pattern === undefined
    ? undefined
    : `The pattern "${pattern.slice(0, 80)}" is no regular expression of at most ${patternCharactersMax} characters.`;
}

/**
 * Returns why a value does not match a schema; undefined when it does. `checkSchema` must have
 * accepted the schema.
 */
export function mismatchOf(
  { checkedSchemas }: CompileContext,
  schema: JsonObject,
  value: JsonValue,
): string | undefined {
  if (matchesPlainly(schema, value)) return undefined;
  return cachedProblemOf(checkedSchemas, `value ${JSON.stringify([schema, value])}`, () => {
    const { values } = getValidators();
    try {
      const isMet = values.validate(schema, value);
      const text = isMet ? undefined : values.errorsText(values.errors, { dataVar: 'value' });
      return text?.slice(0, 300);
    } catch (error) {
      if (error instanceof TooCostly) return 'value takes too long to be checked by its pattern';
      throw error;
    } finally {
      values.removeSchema(schema);
    }
  });
}

/**
 * Whether a value matches a schema that has only `type`, `enum` and annotations; false for other
 * schemas. Most defaults have a simple schema, and this check saves the milliseconds that building
 * a validator takes.
 */
function matchesPlainly({ type, enum: choices, ...rest }: JsonObject, value: JsonValue): boolean {
  const isSimple = Object.keys(rest).every((keyword) => annotationKeywords.has(keyword));
  const isChosen = choices === undefined || (Array.isArray(choices) && choices.includes(value));
  const isOfType =
    type === 'integer'
      ? Number.isInteger(value)
      : typeof value !== 'object' && type === typeof value;
  return isSimple && isChosen && isOfType;
}

function cachedProblemOf(
  checkedSchemas: CompileContext['checkedSchemas'],
  key: string,
  findProblem: () => string | undefined,
): string | undefined {
  if (!checkedSchemas.has(key)) checkedSchemas.set(key, findProblem());
  return checkedSchemas.get(key);
}

function findUnusablePattern(schema: JsonValue): string | undefined {
  if (Array.isArray(schema)) return findFirstDefined(schema.map(findUnusablePattern));
  if (!isObject(schema)) return undefined;
  const ownPatterns = typeof schema['pattern'] === 'string' ? [schema['pattern']] : [];
  const invalidPattern = [...ownPatterns, ...Object.keys(patternPropertiesOf(schema))].find(
    (pattern) => !isValidPattern(pattern),
  );
  return invalidPattern ?? findFirstDefined(Object.values(schema).map(findUnusablePattern));
}

function patternPropertiesOf(schema: JsonObject): JsonObject {
  return isObject(schema['patternProperties']) ? schema['patternProperties'] : {};
}

function isValidPattern(pattern: string): boolean {
  if (pattern.length > patternCharactersMax) return false;
  try {
    compilePattern(pattern);
    return true;
  } catch {
    // The pattern is invalid: `RegExp` reports that only by throwing.
    return false;
  }
}

function findFirstDefined<Value>(values: (Value | undefined)[]): Value | undefined {
  return values.find((value) => value !== undefined);
}
