import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../../document/domain/context.ts';
import type { JsonObject } from '../../document/domain/context.ts';

const annotationKeywords = new Set(['title', 'description', 'default', 'deprecated', 'writeOnly']);
const plainObjectKeywords = new Set([...annotationKeywords, 'type', 'properties', 'required']);

/**
 * Merges the branches of `allOf` into one object, so that inherited properties of a body can become
 * parameters. Merges only where that keeps the meaning: when there is one branch, or when the
 * branches only list properties.
 */
export function mergeAllOf(schema: JsonObject): JsonObject {
  const { allOf, ...own } = schema;
  if (!Array.isArray(allOf)) return schema;
  const branches = allOf.filter((branch) => branch !== true);
  const [first] = branches;
  const isOnlyBranch = Object.keys(own).every((keyword) => annotationKeywords.has(keyword));
  if (branches.length === 1 && isObject(first) && isOnlyBranch) return { ...first, ...own };
  if (!branches.every(isPlainObjectSchema) || !isPlainObjectSchema(own)) return schema;
  return mergeObjects([...branches, own]) ?? schema;
}

function isPlainObjectSchema(schema: JsonValue): schema is JsonObject {
  if (!isObject(schema)) return false;
  const { type } = schema;
  return (
    (type === undefined || type === 'object') &&
    Object.keys(schema).every((keyword) => plainObjectKeywords.has(keyword))
  );
}

function mergeObjects(parts: readonly JsonObject[]): JsonObject | undefined {
  const properties = new Map<string, JsonValue>();
  const required = new Set<JsonValue>();
  let mergedSchema: JsonObject = {};
  for (const { properties: ownProperties, required: requiredNames, ...rest } of parts) {
    mergedSchema = { ...mergedSchema, ...rest };
    for (const name of Array.isArray(requiredNames) ? requiredNames : []) required.add(name);
    for (const [name, property] of isObject(ownProperties) ? Object.entries(ownProperties) : []) {
      const otherSchema = properties.get(name);
      // Two branches give this property different schemas, and a value would have to match both.
      if (otherSchema !== undefined && JSON.stringify(otherSchema) !== JSON.stringify(property))
        return undefined;
      properties.set(name, property);
    }
  }
  return {
    ...mergedSchema,
    ...(properties.size > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.size > 0 && { required: [...required] }),
  };
}
