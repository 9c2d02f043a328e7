import type { BodyPart } from '#contracts/template';
import { base64CharactersMax } from '#templates';
import type { BodyKind } from '#templates';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import { entriesOf, readFlag, readObject, readText } from './reading.ts';

const styles = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const;
export const concreteType = /^[a-z]+\/[a-z0-9.+-]+(?:; ?[a-z]+=[a-z0-9.-]+)*$/i;

const base64 = {
  type: 'string',
  format: 'byte',
  contentEncoding: 'base64',
  minLength: 1,
  maxLength: base64CharactersMax,
};

/** Bytes as callers give them: JSON carries none. */
export function base64Schema({ title, description }: JsonObject): JsonObject {
  const said = typeof description === 'string' ? `${description} ` : '';
  return {
    ...(title === undefined ? {} : { title }),
    description: `${said}Base64 (RFC 4648 section 4) of at most ${base64CharactersMax} characters.`,
    ...base64,
  };
}

/** A file of a form: its bytes alone, or with what only its sender knows. */
function fileSchema(property: JsonObject): JsonObject {
  const said = typeof property['description'] === 'string' ? `${property['description']} ` : '';
  const description = `${said}A file: an object with a filename, or its bytes alone.`;
  // Each keyword but the first is about texts or about objects.
  return {
    ...base64Schema({ ...property, description }),
    type: ['string', 'object'],
    properties: {
      base64,
      filename: { type: 'string', minLength: 1, maxLength: 255 },
      content_type: { type: 'string', minLength: 3, maxLength: 200 },
    },
    required: ['base64'],
    additionalProperties: false,
  };
}

interface Fields {
  /** With files as callers give them in place of bytes. */
  readonly schema: JsonObject;
  readonly parts: Record<string, BodyPart>;
}

/** How the fields of a form are written: what `encoding` says, and which of them are files. */
export function compileParts(
  context: Context,
  media: Place<JsonObject>,
  { schema, kind }: { schema: JsonObject; kind: BodyKind },
): Fields {
  const parts: Record<string, BodyPart> = {};
  const encoding = readObject(context, media, 'encoding');
  for (const [name, at] of encoding ? entriesOf(encoding) : []) {
    checkFields(context, at, 'encoding');
    if (isObject(at.value)) parts[name] = readPart(context, { value: at.value, path: at.path });
  }
  if (kind !== 'multipart' || !isObject(schema['properties'])) return { schema, parts };
  const properties = Object.entries(schema['properties']).map(([name, property]) => {
    const file = asFile(property);
    if (file !== undefined) parts[name] = { ...(parts[name] ?? usualPart), isBinary: true };
    return [name, file ?? property] as const;
  });
  return { schema: { ...schema, properties: Object.fromEntries(properties) }, parts };
}

const usualPart: BodyPart = {
  style: null,
  explode: true,
  allowReserved: false,
  contentType: null,
  isBinary: false,
};

function readPart(context: Context, at: Place<JsonObject>): BodyPart {
  const style = styles.find((candidate) => candidate === at.value['style']) ?? null;
  if (style === null && at.value['style'] !== undefined) {
    const message = `A field of a form has one of the styles ${styles.join(', ')}.`;
    context.findings.warn('style_ignored', [...at.path, 'style'], message);
  }
  const types = readText(context, at, { key: 'contentType', max: 200 })?.split(/, */) ?? [];
  return {
    style,
    explode: readFlag(context, at, 'explode') ?? (style === null || style === 'form'),
    allowReserved: readFlag(context, at, 'allowReserved') ?? false,
    contentType: types.find((type) => concreteType.test(type)) ?? null,
    isBinary: false,
  };
}

/** The same property, or list of it, as callers give files; undefined when it is no bytes (OpenAPI 3.1.0 §4.8.14.2). */
function asFile(property: JsonObject[string] | undefined): JsonObject | undefined {
  if (!isObject(property)) return undefined;
  if (property['type'] === 'array') {
    const items = asFile(property['items']);
    return items && { ...property, items };
  }
  const isText = property['type'] === 'string' || property['type'] === undefined;
  const isBytes =
    property['format'] === 'binary' ||
    ('contentMediaType' in property && !('contentEncoding' in property));
  return isText && isBytes ? fileSchema(property) : undefined;
}
