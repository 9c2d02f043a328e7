import type { BodyPart } from '#contracts/template';
import { BASE64_CHARACTERS_MAX } from '#templates';
import type { BodyKind } from '#templates';
import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';
import { checkFields } from './fields.ts';
import { entriesOf, readFlag, readObject, readText } from './reading.ts';

const styles = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const;
export const concreteType = /^[a-z]+\/[a-z0-9.+-]+(?:; ?[a-z]+=[a-z0-9.-]+)*$/i;

/** Bytes as callers give them: JSON carries none. */
export function base64Schema({ title, description }: JsonObject): JsonObject {
  const said = typeof description === 'string' ? `${description} ` : '';
  return {
    ...(title === undefined ? {} : { title }),
    type: 'string',
    description: `${said}Base64 (RFC 4648 section 4) of at most ${BASE64_CHARACTERS_MAX} characters.`,
    format: 'byte',
    contentEncoding: 'base64',
    minLength: 1,
    maxLength: BASE64_CHARACTERS_MAX,
  };
}

interface Fields {
  /** With base64 in place of bytes. */
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
    const inBase64 = withBase64(property);
    if (inBase64 !== undefined) parts[name] = { ...(parts[name] ?? usualPart), isBinary: true };
    return [name, inBase64 ?? property] as const;
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

/** The same property, or list of it, in base64; undefined when it is no bytes (OpenAPI 3.1.0 §4.8.14.2). */
function withBase64(property: JsonObject[string] | undefined): JsonObject | undefined {
  if (!isObject(property)) return undefined;
  if (property['type'] === 'array') {
    const items = withBase64(property['items']);
    return items && { ...property, items };
  }
  const isText = property['type'] === 'string' || property['type'] === undefined;
  const isBytes =
    property['format'] === 'binary' ||
    ('contentMediaType' in property && !('contentEncoding' in property));
  return isText && isBytes ? base64Schema(property) : undefined;
}
