import type { JsonValue } from '#contracts/vocabulary';
import type { BodyKind } from '#templates';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { neverEmpty } from './parameter-schema.ts';
import type { DeclaredParam } from './parameters.ts';
import { readObject } from './reading.ts';
import { followReference } from './references.ts';
import { compileResolve } from './resolve-block.ts';

/** Keywords that say more about an object than its properties do. */
const beyondProperties = [
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

/** Most properties that become parameters; an operation has 500 of those, with the ones elsewhere. */
const propertiesMax = 250;

/** The properties as parameters, or undefined where that would lose something. */
export function splitBody(
  context: Context,
  { value, path }: Place<JsonObject>,
  { required, kind }: { required: boolean; kind: BodyKind },
): SplitBody | undefined {
  const schema = flatten(value);
  const properties = schema?.['properties'];
  if (schema === undefined || !isObject(properties)) return undefined;
  const isOpen = ![undefined, false].includes(schema['additionalProperties'] as boolean);
  const names = Object.keys(properties);
  const needed = stringsIn(schema['required']);
  const isUsable = names.every((name) => name !== '' && name.length <= 180);
  const isBounded = names.length > 0 && names.length <= propertiesMax;
  if (isOpen || !isUsable || !isBounded || !needed.every((name) => names.includes(name)))
    return undefined;
  const conditions = liftConditions(schema);
  if (conditions === undefined) return undefined;
  const isConditional = Object.keys(conditions).length > 0;
  // They hold for a body that is there; parameters could not say so.
  if (isConditional && !required) return undefined;

  const source = propertyPlaces(context, path);
  const params = Object.entries(properties).map(([name, property]): DeclaredParam => {
    const at = source(name);
    const { description, ...rest } = isObject(property) ? property : ({} as JsonObject);
    return {
      name,
      wireName: name,
      in: 'body',
      style: 'form',
      required: required && needed.includes(name),
      description: typeof description === 'string' ? description.slice(0, 4000) : '',
      // A form has no way to say that a list is empty.
      schema: kind !== 'json' && needed.includes(name) && isList(rest) ? neverEmpty(rest) : rest,
      explode: false,
      allowReserved: false,
      resolve: compileResolve(context, at),
      at,
    };
  });
  return { params, conditions: required ? conditions : whenPresent(params, needed) };
}

function isList(schema: JsonObject): boolean {
  return schema['type'] === 'array';
}

/** What `allOf` may only add, for it to be the same as one object with all the properties. */
const additive = new Set(['type', 'title', 'description', 'properties', 'required', 'allOf']);

/** One object for a schema that is put together from several plain ones; undefined for other schemas. */
function flatten(schema: JsonObject): JsonObject | undefined {
  const { allOf, ...own } = schema;
  // Null says no more than an object of nothing.
  const types: JsonValue[] = [own['type'] ?? 'object'].flat();
  if (!types.every((type) => type === 'object' || type === 'null')) return undefined;
  if (!Array.isArray(allOf)) return own;
  let merged: JsonObject = own;
  for (const branch of allOf) {
    const isAdditive = isObject(branch) && Object.keys(branch).every((key) => additive.has(key));
    const flat = isAdditive ? flatten(branch) : undefined;
    const left = isObject(merged['properties']) ? merged['properties'] : {};
    const right = isObject(flat?.['properties']) ? flat['properties'] : {};
    const isDisjoint = Object.keys(right).every((name) => !Object.hasOwn(left, name));
    if (flat === undefined || !isDisjoint || merged['additionalProperties'] === false)
      return undefined;
    const required = [...stringsIn(merged['required']), ...stringsIn(flat['required'])];
    merged = { ...merged, properties: { ...left, ...right }, required };
  }
  return merged;
}

/** An optional body must still be complete when any of it is given. */
function whenPresent(params: readonly DeclaredParam[], needed: string[]): JsonObject {
  if (needed.length === 0) return {};
  const entries = params.map(
    ({ name }) => [name, needed.filter((other) => other !== name)] as const,
  );
  return { dependentRequired: Object.fromEntries(entries) };
}

/** "One of these properties is required" survives the split; other conditions do not, and forbid it. */
function liftConditions(schema: JsonObject): JsonObject | undefined {
  const lifted: JsonObject = {};
  const { minProperties = 0, maxProperties } = schema;
  if (maxProperties !== undefined || Number(minProperties) > 1) return undefined;
  if (minProperties === 1) lifted['anyOf'] = anyProperty(schema);
  for (const keyword of beyondProperties) {
    const value = schema[keyword];
    if (value === undefined) continue;
    const isChoice =
      (keyword === 'anyOf' || keyword === 'oneOf') &&
      Array.isArray(value) &&
      value.every((branch) => isObject(branch) && Object.keys(branch).join() === 'required');
    if (!isChoice || lifted[keyword] !== undefined) return undefined;
    lifted[keyword] = value;
  }
  if (isObject(schema['dependentRequired']))
    lifted['dependentRequired'] = schema['dependentRequired'];
  return lifted;
}

/** `minProperties: 1`, said of the properties by name. */
function anyProperty(schema: JsonObject): JsonObject[] {
  return Object.keys(isObject(schema['properties']) ? schema['properties'] : {}).map((name) => ({
    required: [name],
  }));
}

/** Where the properties are written: `resolve` is read from there, since schemas drop extensions. */
function propertyPlaces(
  context: Context,
  path: Place['path'],
): (name: string) => Place<JsonObject> {
  const schema = path.reduce<Place['value'] | undefined>(
    (value, step) => (isObject(value) ? value[step] : undefined),
    context.document,
  );
  const at = followReference(context, { value: schema ?? {}, path });
  const properties = at && readObject(context, at, 'properties');
  return (name) => {
    const value = properties?.value[name];
    if (!properties || !isObject(value)) return { value: {}, path };
    return (
      followReference(context, { value, path: [...properties.path, name] }) ?? { value: {}, path }
    );
  };
}

function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
