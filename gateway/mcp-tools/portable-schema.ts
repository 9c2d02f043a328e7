import type { JsonValue } from '#errors';

export type JsonObject = { readonly [key: string]: JsonValue | undefined };

/** A schema that matches any JSON and lists all types. */
const anyJsonSchema: JsonObject = {
  anyOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
};
/** Schema keywords that only describe, and do not restrict values. */
const annotationKeywords = new Set(['title', 'description', 'default', 'examples']);
const schemaListKeywords = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);

/**
 * Rewrites a JSON Schema for clients that support a narrower dialect, such as OpenAPI's: every
 * schema has exactly one `type` or an `anyOf`. A reference is replaced by a schema for any JSON,
 * because only the recursive definition of JSON contains one.
 */
export function toPortableSchema(schema: JsonObject): JsonObject {
  if ('$ref' in schema) return anyJsonSchema;
  const { type, ...rest } = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, toPortableValue(keyword, value)]),
  );
  if (Array.isArray(type)) return { ...rest, anyOf: type.map((each) => ({ type: each })) };
  const isAnything = Object.keys(schema).every((keyword) => annotationKeywords.has(keyword));
  return { ...(type === undefined ? {} : { type }), ...rest, ...(isAnything ? anyJsonSchema : {}) };
}

function toPortableValue(keyword: string, value: JsonValue | undefined): JsonValue | undefined {
  if (schemaListKeywords.has(keyword) && Array.isArray(value)) {
    return value.map((each) => (isObject(each) ? toPortableSchema(each) : each)) as JsonValue;
  }
  if (!isObject(value)) return value;
  if (keyword === 'properties') {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        isObject(each) ? toPortableSchema(each) : each,
      ]),
    );
  }
  if (keyword === 'additionalProperties') {
    return Object.keys(value).length === 0 ? true : toPortableSchema(value);
  }
  return keyword === 'items' ? toPortableSchema(value) : value;
}

const isObject = (value: JsonValue | undefined): value is JsonObject & JsonValue =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
