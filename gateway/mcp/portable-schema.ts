import type { JsonValue } from '#errors';

export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** Any JSON, by the names of its types. */
const anything: JsonObject = {
  anyOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
};
/** Keywords that say something about a schema and nothing about a value. */
const annotations = new Set(['title', 'description', 'default', 'examples']);
const listsOfSchemas = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);

/**
 * The same JSON Schema without what is legal and lost on clients that know a narrower dialect
 * (such as the one of OpenAPI): one `type` each, and none that is empty. References are taken
 * for any JSON: the recursive definition of JSON is the only one there is.
 */
export function portableSchema(schema: JsonObject): JsonObject {
  if ('$ref' in schema) return anything;
  const { type, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, portableValue(keyword, value)]),
  );
  if (Array.isArray(type)) return { ...rest, anyOf: type.map((each) => ({ type: each })) };
  const isAnything = Object.keys(schema).every((keyword) => annotations.has(keyword));
  return { ...(type === undefined ? {} : { type }), ...rest, ...(isAnything ? anything : {}) };
}

function portableValue(keyword: string, value: JsonValue | undefined): JsonValue | undefined {
  if (listsOfSchemas.has(keyword) && Array.isArray(value)) {
    return value.map((each) => (isObject(each) ? portableSchema(each) : each)) as JsonValue;
  }
  if (!isObject(value)) return value;
  if (keyword === 'properties') {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        isObject(each) ? portableSchema(each) : each,
      ]),
    );
  }
  if (keyword === 'additionalProperties') {
    return Object.keys(value).length === 0 ? true : portableSchema(value);
  }
  return keyword === 'items' ? portableSchema(value) : value;
}

const isObject = (value: JsonValue | undefined): value is JsonObject & JsonValue =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
