import type { JsonValue } from '#contracts/vocabulary';
import { bodyKindOf } from '#templates';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { entryNodesOf, readObject } from '../../document/domain/reading.ts';
import { checkSchema, expandSchema, mismatchOf } from '../../document/domain/schema.ts';

/** Keywords that restrict which values a schema accepts; a parameter needs at least one of them. */
const typingKeywords = ['type', 'enum', 'const', 'oneOf', 'anyOf', 'allOf'];

export interface ParameterType {
  readonly schema: JsonObject;
  /**
   * Whether the parameter is declared with `content`, so that its value is sent as JSON text
   * (OpenAPI 3.1.0 §4.8.12.1).
   */
  readonly isJson: boolean;
}

/**
 * Reads the type of a parameter from `schema` or `content`; undefined when neither declares one.
 */
export function compileParameterType(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): ParameterType | undefined {
  const isJson = 'content' in node.value;
  const schemaNode = isJson ? readContent(context, node) : readSchema(context, node);
  const schema = schemaNode && expandSchema(context, schemaNode);
  if (schemaNode === undefined || schema === undefined) return undefined;
  if (!isObject(schema)) {
    context.findings.error('schema_invalid', schemaNode.path, 'Give the parameter a type.');
    return undefined;
  }
  if (!checkSchema(context, { value: schema, path: schemaNode.path })) return undefined;
  if (!typingKeywords.some((keyword) => keyword in schema)) {
    const message = 'Add "type", such as string or integer.';
    context.findings.error('required_field_missing', schemaNode.path, message);
    return undefined;
  }
  const supplied = checkSuppliedValues(context, { value: schema, path: schemaNode.path });
  return supplied && { schema: supplied, isJson };
}

function readSchema(
  { findings }: CompileContext,
  node: DocumentNode<JsonObject>,
): DocumentNode | undefined {
  const schema = node.value['schema'];
  if (schema !== undefined) return { value: schema, path: [...node.path, 'schema'] };
  const message = 'Add "schema" with the type of the parameter.';
  findings.error('required_field_missing', node.path, message);
  return undefined;
}

function readContent(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): DocumentNode | undefined {
  const content = readObject(context, node, 'content');
  const [[type, media] = [], second] = content ? entryNodesOf(content) : [];
  if (
    media === undefined ||
    second ||
    bodyKindOf(type ?? '') !== 'json' ||
    !isObject(media.value)
  ) {
    const message =
      'The content of a parameter must be one media type of JSON. Or describe the parameter by "schema".';
    context.findings.error('unsupported', [...node.path, 'content'], message);
    return undefined;
  }
  checkFields(context, media, 'media type');
  return readSchema(context, { value: media.value, path: media.path });
}

/**
 * Checks `const` and `default` against the schema of the parameter. A `const` becomes a default
 * that callers do not see, so that the executor sends the constant. A `default` that does not match
 * the schema is dropped, and the server then uses its own default.
 */
function checkSuppliedValues(
  context: CompileContext,
  { value: schema, path }: DocumentNode<JsonObject>,
): JsonObject | undefined {
  const { findings } = context;
  const mismatchOfKeyword = (keyword: string) => {
    const supplied: JsonValue | undefined = schema[keyword];
    return supplied === undefined ? undefined : mismatchOf(context, schema, supplied);
  };
  const wrongConstant = mismatchOfKeyword('const');
  if (wrongConstant !== undefined) {
    const message = `The const does not fit its own schema: ${wrongConstant}.`;
    findings.error('schema_invalid', [...path, 'const'], message);
    return undefined;
  }
  if ('const' in schema) return { ...schema, default: schema['const'] ?? null };
  const wrongDefault = mismatchOfKeyword('default');
  if (wrongDefault === undefined) return schema;
  const message = `The default does not fit its own schema and is not sent: ${wrongDefault}.`;
  findings.warn('default_ignored', [...path, 'default'], message);
  const { default: _default, ...rest } = schema;
  return rest;
}

/**
 * Makes a schema refuse empty values, for parameters where an empty value would look like an absent
 * one: an empty path segment would address another resource, an empty list is not sent at all, and
 * OpenAPI allows no empty parameter (3.1.0 §4.8.12, allowEmptyValue).
 */
export function forbidEmptyValues(schema: JsonObject): JsonObject {
  if (schema['type'] === 'string' && !('minLength' in schema)) return { ...schema, minLength: 1 };
  if (schema['type'] === 'array' && !('minItems' in schema)) return { ...schema, minItems: 1 };
  const strictBranches = Object.entries(schema).flatMap(([keyword, value]) => {
    const isChoice = (keyword === 'oneOf' || keyword === 'anyOf') && Array.isArray(value);
    return isChoice
      ? [[keyword, value.map((each) => (isObject(each) ? forbidEmptyValues(each) : each))]]
      : [];
  });
  return strictBranches.length === 0
    ? schema
    : { ...schema, ...Object.fromEntries(strictBranches) };
}
