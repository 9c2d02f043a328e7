import type { JsonValue } from '#contracts/vocabulary';
import { bodyKindOf } from '#templates';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import { entriesOf, readObject } from './reading.ts';
import { checkSchema, expandSchema, mismatch } from './schema.ts';

/** Any of these says what a value may be. */
const typingKeywords = ['type', 'enum', 'const', 'oneOf', 'anyOf', 'allOf'];

export interface ParameterType {
  readonly schema: JsonObject;
  /** Described by `content`: the value is written as JSON text (OpenAPI 3.1.0 §4.8.12.1). */
  readonly isJson: boolean;
}

/** What a parameter may hold, from `schema` or from `content`; undefined when that cannot be told. */
export function compileParameterType(
  context: Context,
  at: Place<JsonObject>,
): ParameterType | undefined {
  const isJson = 'content' in at.value;
  const place = isJson ? readContent(context, at) : readSchema(context, at);
  const schema = place && expandSchema(context, place);
  if (place === undefined || schema === undefined) return undefined;
  if (!isObject(schema)) {
    context.findings.error('schema_invalid', place.path, 'Give the parameter a type.');
    return undefined;
  }
  if (!checkSchema(context, { value: schema, path: place.path })) return undefined;
  if (!typingKeywords.some((keyword) => keyword in schema)) {
    const message = 'Add "type", such as string or integer.';
    context.findings.error('required_field_missing', place.path, message);
    return undefined;
  }
  const supplied = checkSupplied(context, { value: schema, path: place.path });
  return supplied && { schema: supplied, isJson };
}

function readSchema({ findings }: Context, at: Place<JsonObject>): Place | undefined {
  const schema = at.value['schema'];
  if (schema !== undefined) return { value: schema, path: [...at.path, 'schema'] };
  const message = 'Add "schema" with the type of the parameter.';
  findings.error('required_field_missing', at.path, message);
  return undefined;
}

function readContent(context: Context, at: Place<JsonObject>): Place | undefined {
  const content = readObject(context, at, 'content');
  const [[type, media] = [], second] = content ? entriesOf(content) : [];
  if (
    media === undefined ||
    second ||
    bodyKindOf(type ?? '') !== 'json' ||
    !isObject(media.value)
  ) {
    const message =
      'The content of a parameter must be one media type of JSON. Or describe the parameter by "schema".';
    context.findings.error('unsupported', [...at.path, 'content'], message);
    return undefined;
  }
  checkFields(context, media, 'media type');
  return readSchema(context, { value: media.value, path: media.path });
}

/**
 * `const` is sent without asking anybody; in a compiled parameter it is a default that callers do
 * not see. A default that its own schema refuses is left to the server.
 */
function checkSupplied(
  context: Context,
  { value: schema, path }: Place<JsonObject>,
): JsonObject | undefined {
  const { findings } = context;
  const refusal = (keyword: string) => {
    const supplied: JsonValue | undefined = schema[keyword];
    return supplied === undefined ? undefined : mismatch(context, schema, supplied);
  };
  const wrongConstant = refusal('const');
  if (wrongConstant !== undefined) {
    const message = `The const does not fit its own schema: ${wrongConstant}.`;
    findings.error('schema_invalid', [...path, 'const'], message);
    return undefined;
  }
  if ('const' in schema) return { ...schema, default: schema['const'] ?? null };
  const wrongDefault = refusal('default');
  if (wrongDefault === undefined) return schema;
  const message = `The default does not fit its own schema and is not sent: ${wrongDefault}.`;
  findings.warn('default_ignored', [...path, 'default'], message);
  const { default: _default, ...rest } = schema;
  return rest;
}

/**
 * Where a value is written as text, nothing is the same as none: an empty path segment would
 * address another resource, an empty list leaves no trace, and an empty parameter is not allowed
 * (OpenAPI 3.1.0 §4.8.12, allowEmptyValue).
 */
export function neverEmpty(schema: JsonObject): JsonObject {
  if (schema['type'] === 'string' && !('minLength' in schema)) return { ...schema, minLength: 1 };
  if (schema['type'] === 'array' && !('minItems' in schema)) return { ...schema, minItems: 1 };
  const branches = Object.entries(schema).flatMap(([keyword, value]) => {
    const isChoice = (keyword === 'oneOf' || keyword === 'anyOf') && Array.isArray(value);
    return isChoice
      ? [[keyword, value.map((each) => (isObject(each) ? neverEmpty(each) : each))]]
      : [];
  });
  return branches.length === 0 ? schema : { ...schema, ...Object.fromEntries(branches) };
}
