import type { JsonValue } from '#contracts/vocabulary';
import type { BodyKind } from '#templates';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { forbidEmptyValues } from './parameter-schema.ts';
import type { DeclaredParam } from './parameters.ts';
import { readObject } from '../../document/domain/reading.ts';
import { followReference } from '../../document/domain/references.ts';
import { compileResolve } from './resolve-block.ts';

/** Keywords that restrict an object beyond its list of properties. */
const keywordsBeyondProperties = [
  'anyOf',
  'oneOf',
  'not',
  'if',
  'patternProperties',
  'propertyNames',
  'dependentSchemas',
  'unevaluatedProperties',
];

export interface SplitBody {
  readonly params: DeclaredParam[];
  readonly conditions: JsonObject;
}

/**
 * A body with more properties stays one parameter; an operation may have 500 parameters in total.
 */
const propertiesMax = 250;

/**
 * Turns the properties of a body into parameters; undefined when parameters cannot express every
 * restriction that the schema of the body states.
 */
export function splitBody(
  context: CompileContext,
  { value, path }: DocumentNode<JsonObject>,
  { required, kind }: { required: boolean; kind: BodyKind },
): SplitBody | undefined {
  const schema = mergeBranches(value);
  const properties = schema?.['properties'];
  if (schema === undefined || !isObject(properties)) return undefined;
  const allowsMore = ![undefined, false].includes(schema['additionalProperties'] as boolean);
  const propertyNames = Object.keys(properties);
  const requiredNames = stringItemsOf(schema['required']);
  const isUsable = propertyNames.every((name) => name !== '' && name.length <= 180);
  const isBounded = propertyNames.length > 0 && propertyNames.length <= propertiesMax;
  if (
    allowsMore ||
    !isUsable ||
    !isBounded ||
    !requiredNames.every((name) => propertyNames.includes(name))
  )
    return undefined;
  const conditions = readKeptConditions(schema);
  if (conditions === undefined) return undefined;
  const isConditional = Object.keys(conditions).length > 0;
  // The body is optional and has conditions. Parameters cannot say "only when a body is sent".
  if (isConditional && !required) return undefined;

  const findPropertyNode = createPropertyFinder(context, path);
  const params = Object.entries(properties).map(([name, property]): DeclaredParam => {
    const propertyNode = findPropertyNode(name);
    const { description, ...rest } = isObject(property) ? property : ({} as JsonObject);
    return {
      name,
      wireName: name,
      in: 'body',
      style: 'form',
      required: required && requiredNames.includes(name),
      description: typeof description === 'string' ? description.slice(0, 4000) : '',
      // A form cannot express an empty list, so callers must not give one.
      schema:
        kind !== 'json' && requiredNames.includes(name) && isList(rest)
          ? forbidEmptyValues(rest)
          : rest,
      explode: false,
      allowReserved: false,
      resolve: compileResolve(context, propertyNode),
      at: propertyNode,
    };
  });
  return {
    params,
    conditions: required ? conditions : buildTogetherConditions(params, requiredNames),
  };
}

function isList(schema: JsonObject): boolean {
  return schema['type'] === 'array';
}

/** A branch of `allOf` that has only these keywords just adds properties to the object. */
const additiveKeywords = new Set([
  'type',
  'title',
  'description',
  'properties',
  'required',
  'allOf',
]);

/**
 * Merges a schema and its `allOf` branches into one object schema; undefined when a branch does
 * more than add properties.
 */
function mergeBranches(schema: JsonObject): JsonObject | undefined {
  const { allOf, ...own } = schema;
  // A type that also allows null is treated as an object: null means the same as no properties.
  const types: JsonValue[] = [own['type'] ?? 'object'].flat();
  if (!types.every((type) => type === 'object' || type === 'null')) return undefined;
  if (!Array.isArray(allOf)) return own;
  let mergedSchema: JsonObject = own;
  for (const branch of allOf) {
    const isAdditive =
      isObject(branch) && Object.keys(branch).every((key) => additiveKeywords.has(key));
    const flattenedBranch = isAdditive ? mergeBranches(branch) : undefined;
    const leftProperties = isObject(mergedSchema['properties']) ? mergedSchema['properties'] : {};
    const rightProperties = isObject(flattenedBranch?.['properties'])
      ? flattenedBranch['properties']
      : {};
    const isDisjoint = Object.keys(rightProperties).every(
      (name) => !Object.hasOwn(leftProperties, name),
    );
    if (
      flattenedBranch === undefined ||
      !isDisjoint ||
      mergedSchema['additionalProperties'] === false
    )
      return undefined;
    const required = [
      ...stringItemsOf(mergedSchema['required']),
      ...stringItemsOf(flattenedBranch['required']),
    ];
    mergedSchema = {
      ...mergedSchema,
      properties: { ...leftProperties, ...rightProperties },
      required,
    };
  }
  return mergedSchema;
}

/**
 * The conditions of an optional body: when a caller gives one property, all required properties
 * must be given.
 */
function buildTogetherConditions(
  params: readonly DeclaredParam[],
  requiredNames: string[],
): JsonObject {
  if (requiredNames.length === 0) return {};
  const entries = params.map(
    ({ name }) => [name, requiredNames.filter((other) => other !== name)] as const,
  );
  return { dependentRequired: Object.fromEntries(entries) };
}

/**
 * Keeps the condition that one of several properties must be given. Undefined when the schema has
 * another condition: parameters cannot express it, so the body stays one parameter.
 */
function readKeptConditions(schema: JsonObject): JsonObject | undefined {
  const liftedConditions: JsonObject = {};
  const { minProperties = 0, maxProperties } = schema;
  if (maxProperties !== undefined || Number(minProperties) > 1) return undefined;
  if (minProperties === 1) liftedConditions['anyOf'] = buildAnyPropertyBranches(schema);
  for (const keyword of keywordsBeyondProperties) {
    const value = schema[keyword];
    if (value === undefined) continue;
    const isChoice =
      (keyword === 'anyOf' || keyword === 'oneOf') &&
      Array.isArray(value) &&
      value.every((branch) => isObject(branch) && Object.keys(branch).join() === 'required');
    if (!isChoice || liftedConditions[keyword] !== undefined) return undefined;
    liftedConditions[keyword] = value;
  }
  if (isObject(schema['dependentRequired']))
    liftedConditions['dependentRequired'] = schema['dependentRequired'];
  return liftedConditions;
}

/**
 * Rewrites `minProperties: 1` as an `anyOf` in which each branch requires one of the properties.
 */
function buildAnyPropertyBranches(schema: JsonObject): JsonObject[] {
  return Object.keys(isObject(schema['properties']) ? schema['properties'] : {}).map((name) => ({
    required: [name],
  }));
}

/**
 * Finds the declaration of a body property in the document. `resolve` is read from the declaration,
 * because compiled schemas contain no extensions.
 */
function createPropertyFinder(
  context: CompileContext,
  path: DocumentNode['path'],
): (name: string) => DocumentNode<JsonObject> {
  const schema = path.reduce<DocumentNode['value'] | undefined>(
    (value, pathSegment) => (isObject(value) ? value[pathSegment] : undefined),
    context.document,
  );
  const schemaNode = followReference(context, { value: schema ?? {}, path });
  const properties = schemaNode && readObject(context, schemaNode, 'properties');
  return (name) => {
    const value = properties?.value[name];
    if (!properties || !isObject(value)) return { value: {}, path };
    return (
      followReference(context, { value, path: [...properties.path, name] }) ?? { value: {}, path }
    );
  };
}

function stringItemsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
