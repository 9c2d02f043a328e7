import type { CompiledAction } from '#contracts/template';
import { bodyKindOf } from '#templates';
import { base64Schema, compileParts, concreteType } from './body-parts.ts';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import type { DeclaredParam } from './parameters.ts';
import { entriesOf, readFlag, readObject, readText } from './reading.ts';
import { followReference } from './references.ts';
import { checkSchema, expandSchema } from './schema.ts';
import { splitBody } from './split-body.ts';

export interface CompiledBody {
  readonly body: NonNullable<CompiledAction['body']>;
  readonly params: DeclaredParam[];
  /** What a valid `params` object must meet besides the single parameters. */
  readonly conditions: JsonObject;
}

/**
 * The body of an operation as parameters: one per property where the body is a
 * plain object, so that agents need not know what goes where; a single `body`
 * otherwise.
 */
export function compileBody(
  context: Context,
  operation: Place<JsonObject>,
): CompiledBody | undefined {
  const declared = operation.value['requestBody'];
  if (declared === undefined) return undefined;
  const at = followReference(context, {
    value: declared,
    path: [...operation.path, 'requestBody'],
  });
  if (at === undefined) return undefined;
  checkFields(context, at, 'request body');
  const required = readFlag(context, at, 'required') ?? false;
  const description = readText(context, at, { key: 'description', max: 4000 }) ?? '';
  const media = chooseMediaType(context, at);
  if (media === undefined) return undefined;
  checkFields(context, media.at, 'media type');
  const place = readBodySchema(context, media);
  if (place === undefined) return undefined;

  const kind = bodyKindOf(media.type);
  const mediaType = media.type;
  const { schema, parts } = isObject(place.value)
    ? compileParts(context, media.at, { schema: place.value, kind })
    : { schema: {}, parts: {} };
  const isSplit = kind === 'json' || kind === 'form' || kind === 'multipart';
  const split =
    isSplit && splitBody(context, { value: schema, path: place.path }, { required, kind });
  if (split) return { ...split, body: { mediaType, wholeBody: false, required, parts } };
  return {
    body: { mediaType, wholeBody: true, required, parts },
    params: [wholeBody({ schema, required, description, at })],
    conditions: {},
  };
}

interface Media {
  readonly type: string;
  readonly at: Place<JsonObject>;
}

/** What the body may be, as callers give it: JSON, or a string for what no JSON can carry. */
function readBodySchema(context: Context, { type, at }: Media): Place | undefined {
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

/** Best first; what is written as JSON or a form has parameters of its own. */
const preference = ['json', 'form', 'multipart', 'text', 'binary'];

function chooseMediaType(context: Context, at: Place<JsonObject>): Media | undefined {
  const content = readObject(context, at, 'content');
  const types = content ? entriesOf(content) : [];
  const ranked = types
    .map(([key, media]) => ({ type: concrete(key, media.value), media }))
    .toSorted((left, right) => rankOf(left.type) - rankOf(right.type));
  const [best] = ranked;
  if (best === undefined) {
    const message = 'Add "content" with a media type, such as application/json.';
    context.findings.error('body_invalid', at.path, message);
    return undefined;
  }
  const { type, media } = best;
  if (!concreteType.test(type) || !isObject(media.value)) {
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

/** The lower, the better. */
export function rankOf(type: string): number {
  if (/^application\/json$/i.test(type)) return -1;
  return concreteType.test(type) ? preference.indexOf(bodyKindOf(type)) : preference.length;
}

/** A range says that JSON will do as well as anything else, unless it is about files. */
export function concrete(type: string, media: Place['value']): string {
  if (!/^(?:\*|[a-z]+)\/\*(?:\+json)?$/i.test(type)) return type;
  const schema = isObject(media) ? media['schema'] : undefined;
  const isFile = isObject(schema) && schema['format'] === 'binary';
  const isJson = /^(?:\*|application)\//i.test(type) && !isFile;
  return isJson ? 'application/json' : 'application/octet-stream';
}

function wholeBody({
  schema,
  required,
  description,
  at,
}: {
  schema: JsonObject;
  required: boolean;
  description: string;
  at: Place<JsonObject>;
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
