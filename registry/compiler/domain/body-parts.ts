import type { BodyPart } from '#contracts/template';
import { base64CharactersMax } from '#templates';
import type { BodyKind } from '#templates';
import { isObject } from '../../document/domain/context.ts';
import type { CompileContext, JsonObject, DocumentNode } from '../../document/domain/context.ts';
import { checkFields } from '../../document/domain/fields.ts';
import { entryNodesOf, readFlag, readObject, readText } from '../../document/domain/reading.ts';

const styles = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const;
export const concreteTypePattern = /^[a-z]+\/[a-z0-9.+-]+(?:; ?[a-z]+=[a-z0-9.-]+)*$/i;

const base64TextSchema = {
  type: 'string',
  format: 'byte',
  contentEncoding: 'base64',
  minLength: 1,
  maxLength: base64CharactersMax,
};

/** The schema that callers see for bytes: base64 text, because JSON cannot carry bytes. */
export function base64Schema({ title, description }: JsonObject): JsonObject {
  const ownDescription = typeof description === 'string' ? `${description} ` : '';
  return {
    ...(title === undefined ? {} : { title }),
    description: `${ownDescription}Base64 (RFC 4648 section 4) of at most ${base64CharactersMax} characters.`,
    ...base64TextSchema,
  };
}

/**
 * The schema of a file in a form. Callers give base64 text, or an object with base64 text, file
 * name and content type.
 */
function fileSchema(property: JsonObject): JsonObject {
  const ownDescription =
    typeof property['description'] === 'string' ? `${property['description']} ` : '';
  const description = `${ownDescription}A file: an object with a filename, or its bytes alone.`;
  // The schema accepts a string or an object. The keywords for strings do not restrict objects, nor
  // the reverse.
  return {
    ...base64Schema({ ...property, description }),
    type: ['string', 'object'],
    properties: {
      base64: base64TextSchema,
      filename: { type: 'string', minLength: 1, maxLength: 255 },
      content_type: { type: 'string', minLength: 3, maxLength: 200 },
    },
    required: ['base64'],
    additionalProperties: false,
  };
}

interface CompiledFields {
  /**
   * The schema of the body as callers see it: a file is base64 text or an object with base64 text.
   */
  readonly schema: JsonObject;
  readonly parts: Record<string, BodyPart>;
}

/** Compiles the fields of a form: how each is encoded (`encoding`), and which of them are files. */
export function compileParts(
  context: CompileContext,
  media: DocumentNode<JsonObject>,
  { schema, kind }: { schema: JsonObject; kind: BodyKind },
): CompiledFields {
  const parts: Record<string, BodyPart> = {};
  const encoding = readObject(context, media, 'encoding');
  for (const [name, at] of encoding ? entryNodesOf(encoding) : []) {
    checkFields(context, at, 'encoding');
    if (isObject(at.value)) parts[name] = readPart(context, { value: at.value, path: at.path });
  }
  if (kind !== 'multipart' || !isObject(schema['properties'])) return { schema, parts };
  const properties = Object.entries(schema['properties']).map(([name, property]) => {
    const file = fileSchemaOf(property);
    if (file !== undefined) parts[name] = { ...(parts[name] ?? defaultPart), isBinary: true };
    return [name, file ?? property] as const;
  });
  return { schema: { ...schema, properties: Object.fromEntries(properties) }, parts };
}

const defaultPart: BodyPart = {
  style: null,
  explode: true,
  allowReserved: false,
  contentType: null,
  isBinary: false,
};

function readPart(context: CompileContext, node: DocumentNode<JsonObject>): BodyPart {
  const style = styles.find((candidate) => candidate === node.value['style']) ?? null;
  if (style === null && node.value['style'] !== undefined) {
    const message = `A field of a form has one of the styles ${styles.join(', ')}.`;
    context.findings.warn('style_ignored', [...node.path, 'style'], message);
  }
  const types = readText(context, node, { key: 'contentType', max: 200 })?.split(/, */) ?? [];
  return {
    style,
    explode: readFlag(context, node, 'explode') ?? (style === null || style === 'form'),
    allowReserved: readFlag(context, node, 'allowReserved') ?? false,
    contentType: types.find((type) => concreteTypePattern.test(type)) ?? null,
    isBinary: false,
  };
}

/**
 * The schema that callers see for a property that is a file or a list of files; undefined for other
 * properties (OpenAPI 3.1.0 §4.8.14.2).
 */
function fileSchemaOf(property: JsonObject[string] | undefined): JsonObject | undefined {
  if (!isObject(property)) return undefined;
  if (property['type'] === 'array') {
    const items = fileSchemaOf(property['items']);
    return items && { ...property, items };
  }
  const isText = property['type'] === 'string' || property['type'] === undefined;
  const isBytes =
    property['format'] === 'binary' ||
    ('contentMediaType' in property && !('contentEncoding' in property));
  return isText && isBytes ? fileSchema(property) : undefined;
}
