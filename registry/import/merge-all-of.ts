import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../domain/context.ts';
import type { JsonObject } from '../domain/context.ts';

const annotations = new Set(['title', 'description', 'default', 'deprecated', 'writeOnly']);
const ofPlainObjects = new Set([...annotations, 'type', 'properties', 'required']);

/**
 * `allOf` as one object, where that says the same: of a single branch, or of objects that only
 * list properties. Bodies built by inheritance then become one parameter per property.
 */
export function mergeAllOf(schema: JsonObject): JsonObject {
  const { allOf, ...own } = schema;
  if (!Array.isArray(allOf)) return schema;
  const branches = allOf.filter((branch) => branch !== true);
  const [first] = branches;
  const isOnlyBranch = Object.keys(own).every((keyword) => annotations.has(keyword));
  if (branches.length === 1 && isObject(first) && isOnlyBranch) return { ...first, ...own };
  if (!branches.every(isPlain) || !isPlain(own)) return schema;
  return mergeObjects([...branches, own]) ?? schema;
}

function isPlain(schema: JsonValue): schema is JsonObject {
  if (!isObject(schema)) return false;
  const { type } = schema;
  return (
    (type === undefined || type === 'object') &&
    Object.keys(schema).every((keyword) => ofPlainObjects.has(keyword))
  );
}

function mergeObjects(parts: readonly JsonObject[]): JsonObject | undefined {
  const properties = new Map<string, JsonValue>();
  const required = new Set<JsonValue>();
  let merged: JsonObject = {};
  for (const { properties: own, required: needed, ...rest } of parts) {
    merged = { ...merged, ...rest };
    for (const name of Array.isArray(needed) ? needed : []) required.add(name);
    for (const [name, property] of isObject(own) ? Object.entries(own) : []) {
      const other = properties.get(name);
      // Both would have to hold.
      if (other !== undefined && JSON.stringify(other) !== JSON.stringify(property))
        return undefined;
      properties.set(name, property);
    }
  }
  return {
    ...merged,
    ...(properties.size > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.size > 0 && { required: [...required] }),
  };
}
