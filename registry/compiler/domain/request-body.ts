import type { CompiledAction } from '#contracts/template';
import { bodyKindOf } from '#templates';
import { base64Schema, compileParts, concreteTypePattern } from './body-parts.ts';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import type { DeclaredParam } from './parameters.ts';
import { entryNodesOf, readFlag, readObject, readText } from '../../document/domain/reading.ts';
import { followReference } from '../../document/domain/references.ts';
import { checkSchema, expandSchema } from '../../document/domain/schema.ts';
import { splitBody } from './split-body.ts';

export interface CompiledBody {
  readonly body: NonNullable<CompiledAction['body']>;
  readonly params: DeclaredParam[];
  /** JSON Schema keywords that say which params must be given together. */
  readonly conditions: JsonObject;
}

/**
 * Compiles the body of an operation to parameters. The properties of a plain object become separate
 * parameters, so that agents need not know which values belong in the body; any other body becomes
 * one parameter `body`.
 */
export function compileBody(
  context: CompileContext,
  operation: DocumentNode<JsonObject>,
): CompiledBody | undefined {
  const declaredBody = operation.value['requestBody'];
  if (declaredBody === undefined) return undefined;
  const bodyNode = followReference(context, {
    value: declaredBody,
    path: [...operation.path, 'requestBody'],
  });
  if (bodyNode === undefined) return undefined;
  checkFields(context, bodyNode, 'request body');
  const required = readFlag(context, bodyNode, 'required') ?? false;
  const description = readText(context, bodyNode, { key: 'description', max: 4000 }) ?? '';
  const media = chooseMediaType(context, bodyNode);
  if (media === undefined) return undefined;
  checkFields(context, media.at, 'media type');
  const schemaNode = readBodySchema(context, media);
  if (schemaNode === undefined) return undefined;

  const kind = bodyKindOf(media.type);
  const mediaType = media.type;
  const { schema, parts } = isObject(schemaNode.value)
    ? compileParts(context, media.at, { schema: schemaNode.value, kind })
    : { schema: {}, parts: {} };
  const canBeSplit = kind === 'json' || kind === 'form' || kind === 'multipart';
  const splitResult =
    canBeSplit && splitBody(context, { value: schema, path: schemaNode.path }, { required, kind });
  if (splitResult)
    return { ...splitResult, body: { mediaType, wholeBody: false, required, parts } };
  return {
    body: { mediaType, wholeBody: true, required, parts },
    params: [createWholeBodyParam({ schema, required, description, at: bodyNode })],
    conditions: {},
  };
}

interface Media {
  readonly type: string;
  readonly at: DocumentNode<JsonObject>;
}

/**
 * The schema that callers see for the body: its JSON schema, or a string when the content is not
 * JSON.
 */
function readBodySchema(context: CompileContext, { type, at }: Media): DocumentNode | undefined {
  const path = [...at.path, 'schema'];
  const kind = bodyKindOf(type);
  const expanded = expandSchema(context, { value: at.value['schema'] ?? true, path });
  if (expanded === undefined) return undefined;
  const schema = kind === 'binary' ? base64Schema(isObject(expanded) ? expanded : {}) : expanded;
  if (kind === 'text' && !(isObject(schema) && schema['type'] === 'string')) {
    const message = `Callers write the ${type} themselves, as one text: its structure has no form in JSON.`;
    context.findings.warn('body_as_text', path, message);
    return { value: { type: 'string', description: `The text of the body, as ${type}.` }, path };
  }
  return checkSchema(context, { value: schema, path }) ? { value: schema, path } : undefined;
}

/**
 * Kinds of media types in order of preference. JSON and forms come first because their properties
 * can become parameters.
 */
const kindPreference = ['json', 'form', 'multipart', 'text', 'binary'];

function chooseMediaType(
  context: CompileContext,
  node: DocumentNode<JsonObject>,
): Media | undefined {
  const content = readObject(context, node, 'content');
  const types = content ? entryNodesOf(content) : [];
  const rankedTypes = types
    .map(([key, media]) => ({ type: toConcreteMediaType(key, media.value), media }))
    .toSorted((left, right) => mediaTypeRankOf(left.type) - mediaTypeRankOf(right.type));
  const [best] = rankedTypes;
  if (best === undefined) {
    const message = 'Add "content" with a media type, such as application/json.';
    context.findings.error('body_invalid', node.path, message);
    return undefined;
  }
  const { type, media } = best;
  if (!concreteTypePattern.test(type) || !isObject(media.value)) {
    const message = `"${type.slice(0, 80)}" is not a media type with a schema. Name one, such as application/json.`;
    context.findings.error('body_invalid', media.path, message);
    return undefined;
  }
  if (/^multipart\/(?!form-data)/i.test(type)) {
    const message = `Bodies of ${type} cannot be written. Offer JSON, a form or a single file.`;
    context.findings.error('unsupported', media.path, message);
    return undefined;
  }
  return { type, at: { value: media.value, path: media.path } };
}

/** The rank of a media type: a lower one is preferred, and `application/json` has the lowest, -1. */
export function mediaTypeRankOf(type: string): number {
  if (/^application\/json$/i.test(type)) return -1;
  return concreteTypePattern.test(type)
    ? kindPreference.indexOf(bodyKindOf(type))
    : kindPreference.length;
}

/**
 * Turns a media type range such as `image/*` into a media type to send: JSON, or bytes when the schema
 * describes a file.
 */
export function toConcreteMediaType(type: string, media: DocumentNode['value']): string {
  if (!/^(?:\*|[a-z]+)\/\*(?:\+json)?$/i.test(type)) return type;
  const schema = isObject(media) ? media['schema'] : undefined;
  const isFile = isObject(schema) && schema['format'] === 'binary';
  const isJson = /^(?:\*|application)\//i.test(type) && !isFile;
  return isJson ? 'application/json' : 'application/octet-stream';
}

function createWholeBodyParam({
  schema,
  required,
  description,
  at,
}: {
  schema: JsonObject;
  required: boolean;
  description: string;
  at: DocumentNode<JsonObject>;
}): DeclaredParam {
  return {
    name: 'body',
    wireName: 'body',
    in: 'body',
    style: 'form',
    required,
    description,
    schema,
    explode: false,
    allowReserved: false,
    resolve: null,
    at,
  };
}
