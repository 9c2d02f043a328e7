import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AnySchema } from 'ajv/dist/2020.js';

import type { JsonValue } from '#contracts/vocabulary';
import { TooCostly, compilePattern, createSchemaValidator } from '#json-schema';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { lookUpReference } from './references.ts';

/** References repeat what they name, so few lines can unfold to very much. */
export const schemaNodesMax = 50_000;
const patternCharactersMax = 500;

/** Keywords whose value is one schema, a list of schemas, or a map of schemas (JSON Schema 2020-12). */
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
const plainKeywords = new Set([
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
/** Say nothing about what is valid, and would only make the compiled template larger. */
const droppedKeywords = new Set([
  'example',
  'examples',
  'externalDocs',
  'xml',
  'discriminator',
  '$comment',
]);
const annotations = new Set([
  'title',
  'description',
  'default',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

/**
 * A self-contained copy of a schema: references are replaced by what they
 * name, so that policy and agents need no second document. Where a schema
 * contains itself, anything is accepted from the second round on.
 */
export function expandSchema(
  context: Context,
  at: Place,
  open: readonly string[] = [],
): JsonValue | undefined {
  const { findings, budget } = context;
  if (typeof at.value === 'boolean') return at.value;
  if (!isObject(at.value)) {
    findings.error('schema_invalid', at.path, 'A schema must be an object, true or false.');
    return undefined;
  }
  budget.schemaNodes -= 1;
  if (budget.schemaNodes < 0) {
    // Said once: every reference after it would say it again.
    if (budget.schemaNodes === -1) {
      const message = `The schemas unfold to more than ${schemaNodesMax} parts. Describe only what callers need.`;
      findings.error('too_complex', at.path.slice(0, 3), message);
    }
    return undefined;
  }
  const expanded: JsonObject = {};
  for (const [keyword, value] of Object.entries(at.value)) {
    if (keyword === '$ref') continue;
    const part = expandKeyword(context, { value, path: [...at.path, keyword] }, { keyword, open });
    if (part !== undefined) expanded[keyword] = part;
  }
  leaveOutReadOnly(expanded);
  if (!('$ref' in at.value)) return expanded;
  return mergeReference(context, { at: at as Place<JsonObject>, siblings: expanded, open });
}

/** Schemas describe requests here, and in those no such property is sent (OpenAPI 3.1.0 §4.8.24). */
function leaveOutReadOnly(schema: JsonObject): void {
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
  context: Context,
  { value, path }: Place,
  { keyword, open }: { keyword: string; open: readonly string[] },
): JsonValue | undefined {
  if (plainKeywords.has(keyword)) return value;
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

function reportKeyword({ findings }: Context, { path }: Place, keyword: string): void {
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
  readonly at: Place<JsonObject>;
  readonly siblings: JsonObject;
  readonly open: readonly string[];
}

function mergeReference(
  context: Context,
  { at, siblings, open }: ReferenceUse,
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
  const referred = expandSchema(context, target, [...open, name]);
  if (!isObject(referred)) return referred;
  const narrows = Object.keys(siblings).some((keyword) => !annotations.has(keyword));
  return narrows ? { ...siblings, allOf: [referred] } : { ...referred, ...siblings };
}

let shared: { forms: Ajv2020; values: Ajv2020 } | undefined;

function validators() {
  shared ??= {
    forms: new Ajv2020({ strict: false, validateFormats: false, logger: false }),
    values: createSchemaValidator({ allErrors: false }),
  };
  return shared;
}

/** Reports what would keep a schema from being compiled, wherever in it that is. */
export function checkSchema({ findings, judged }: Context, { value, path }: Place): boolean {
  const problem = once(judged, `schema ${JSON.stringify(value)}`, () => problemOf(value));
  if (problem === undefined) return true;
  findings.error('schema_invalid', path, problem);
  return false;
}

function problemOf(schema: JsonValue): string | undefined {
  const { forms } = validators();
  if (forms.validateSchema(schema as AnySchema) !== true) {
    const [problem] = forms.errors ?? [];
    const where = problem?.instancePath ? ` at ${problem.instancePath}` : '';
    return `The schema${where} ${problem?.message ?? 'is not valid'}.`;
  }
  const pattern = unusablePattern(schema);
  return pattern === undefined
    ? undefined
    : `The pattern "${pattern.slice(0, 80)}" is no regular expression of at most ${patternCharactersMax} characters.`;
}

/** Why a value does not meet a schema that `checkSchema` has passed; undefined when it does. */
export function mismatch(
  { judged }: Context,
  schema: JsonObject,
  value: JsonValue,
): string | undefined {
  if (isPlainlyMet(schema, value)) return undefined;
  return once(judged, `value ${JSON.stringify([schema, value])}`, () => {
    const { values } = validators();
    try {
      const isMet = values.validate(schema, value);
      const text = isMet ? undefined : values.errorsText(values.errors, { dataVar: 'value' });
      return text?.slice(0, 300);
    } catch (thrown) {
      if (thrown instanceof TooCostly) return 'value takes too long to be checked by its pattern';
      throw thrown;
    } finally {
      values.removeSchema(schema);
    }
  });
}

/** Most defaults are of schemas that say no more than this, and a validator takes milliseconds to make. */
function isPlainlyMet({ type, enum: choices, ...rest }: JsonObject, value: JsonValue): boolean {
  const isSimple = Object.keys(rest).every((keyword) => annotations.has(keyword));
  const isChosen = choices === undefined || (Array.isArray(choices) && choices.includes(value));
  const isOfType =
    type === 'integer'
      ? Number.isInteger(value)
      : typeof value !== 'object' && type === typeof value;
  return isSimple && isChosen && isOfType;
}

function once(
  judged: Context['judged'],
  key: string,
  judge: () => string | undefined,
): string | undefined {
  if (!judged.has(key)) judged.set(key, judge());
  return judged.get(key);
}

function unusablePattern(schema: JsonValue): string | undefined {
  if (Array.isArray(schema)) return firstDefined(schema.map(unusablePattern));
  if (!isObject(schema)) return undefined;
  const own = typeof schema['pattern'] === 'string' ? [schema['pattern']] : [];
  const bad = [...own, ...Object.keys(patternMap(schema))].find((pattern) => !isPattern(pattern));
  return bad ?? firstDefined(Object.values(schema).map(unusablePattern));
}

function patternMap(schema: JsonObject): JsonObject {
  return isObject(schema['patternProperties']) ? schema['patternProperties'] : {};
}

function isPattern(pattern: string): boolean {
  if (pattern.length > patternCharactersMax) return false;
  try {
    compilePattern(pattern);
    return true;
  } catch {
    // RegExp has no way of asking but trying.
    return false;
  }
}

function firstDefined<Value>(values: (Value | undefined)[]): Value | undefined {
  return values.find((value) => value !== undefined);
}
