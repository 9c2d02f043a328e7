import type { BodyPart } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import {
  bodyKindOf,
  encode,
  encodeExcept,
  invalidParam,
  isAbsent,
  isRecord,
  pairTexts,
  presentEntries,
  textOf,
} from '#templates';
import type { Styled } from '#templates';

export interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** How the values of a form are written. */
export interface Writing {
  /** How a property is written, where not by default. */
  readonly partOf: (name: string, value: JsonValue) => BodyPart | undefined;
  /** Without a schema, a value itself has to say that it is a file (see `fileOf`). */
  readonly valuesSayFiles?: true | undefined;
}

interface BodyEncoding extends Writing {
  readonly mediaType: string;
  /** From the digest of the call, never from chance: an approved request can be built again byte for byte. */
  readonly boundary: string;
}

/** A part of a form that is a file, with its bytes as base64. */
interface FilePart {
  readonly base64: JsonValue;
  readonly filename: string | null;
  readonly contentType: string | null;
}

/** RFC 3986's reserved characters that neither end nor separate a pair of a form. */
const reservedInForm = "/?#[]@!$'()*,;:";

/** A body in its media type (OpenAPI 3.1.0 §4.8.14). Binary ones are given as base64. */
export function encodeBody(value: JsonValue, encoding: BodyEncoding): EncodedBody {
  const { mediaType, boundary } = encoding;
  const kind = bodyKindOf(mediaType);
  if (kind === 'form' || kind === 'multipart') {
    if (!isRecord(value)) throw invalidParam('body', 'must be an object with the fields of a form');
    if (kind === 'form') {
      const text = formText(value, encoding.partOf);
      return { contentType: mediaType, bytes: Buffer.from(text) };
    }
    const bytes = multipart(partsOf(value, encoding), boundary);
    return { contentType: `multipart/form-data; boundary=${boundary}`, bytes };
  }
  if (kind === 'binary') return { contentType: mediaType, bytes: bytesOf(value, 'body') };
  const text = kind === 'json' ? JSON.stringify(value) : textOf(value, 'body');
  return { contentType: mediaType, bytes: Buffer.from(text) };
}

/** A body as people read it: a form as its text, a multipart form as its parts, anything else as its value. */
export function shownBody(
  value: JsonValue,
  { contentType, partOf, valuesSayFiles }: Writing & { readonly contentType: string | null },
): JsonValue {
  const kind = contentType === null ? undefined : bodyKindOf(contentType);
  if (!isRecord(value)) return value;
  if (kind === 'form') return formText(value, partOf);
  if (kind !== 'multipart') return value;
  return partsOf(value, { partOf, valuesSayFiles }).map(({ content, ...part }) => ({
    ...part,
    ...(typeof content === 'string' ? { value: content } : { base64: content.base64 }),
  }));
}

function formText(value: Record<string, JsonValue>, partOf: Writing['partOf']): string {
  const pairs = Object.entries(value).flatMap(([name, each]) => {
    if (isAbsent(each)) return [];
    const part = partOf(name, each);
    const isJson = part?.contentType ? bodyKindOf(part.contentType) === 'json' : isRecord(each);
    const style = part?.style ?? (isJson ? 'json' : 'form');
    const styled: Styled = { name, wireName: name, style, explode: part?.explode ?? true };
    return pairTexts(each, styled, (text) =>
      part?.allowReserved ? encodeExcept(text, name, reservedInForm) : encode(text, name),
    );
  });
  return pairs.join('&');
}

/** One part of a multipart form, before its bytes. */
interface Part {
  readonly name: string;
  readonly filename?: string;
  readonly content_type?: string;
  readonly content: string | { readonly base64: JsonValue };
}

/** RFC 7578: a list is one part per item, what is no primitive is JSON. */
function partsOf(value: Record<string, JsonValue>, { partOf, valuesSayFiles }: Writing): Part[] {
  return presentEntries(value).flatMap(([name, each]) => {
    const part = partOf(name, each);
    const isJson = part?.contentType ? bodyKindOf(part.contentType) === 'json' : false;
    const items = Array.isArray(each) && !isJson ? each : [each];
    return items.map((item) => {
      const isFile = part?.isBinary === true;
      const said = isFile || valuesSayFiles === true ? fileOf(item) : undefined;
      const file = said ?? (isFile ? { base64: item, filename: null, contentType: null } : said);
      return file === undefined ? textPart(item, { name, part }) : filePart(file, { name, part });
    });
  });
}

interface PartOptions {
  readonly name: string;
  readonly part: BodyPart | undefined;
}

function textPart(item: JsonValue, { name, part }: PartOptions): Part {
  const isObject = typeof item === 'object';
  const type = part?.contentType ?? (isObject ? 'application/json' : undefined);
  const isJson = isObject || (type !== undefined && bodyKindOf(type) === 'json');
  const content = isJson ? JSON.stringify(item) : textOf(item, name);
  return { name, ...(type === undefined ? {} : { content_type: type }), content };
}

function filePart({ base64, filename, contentType }: FilePart, { name, part }: PartOptions): Part {
  return {
    name,
    filename: filename ?? name,
    content_type: contentType ?? part?.contentType ?? 'application/octet-stream',
    content: { base64 },
  };
}

function multipart(parts: readonly Part[], boundary: string): Uint8Array {
  const written = parts.flatMap(({ name, filename, content_type: type, content }) => {
    const file = filename === undefined ? '' : `; filename="${quoted(filename)}"`;
    const head = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="${quoted(name)}"${file}`,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ];
    const bytes =
      typeof content === 'string' ? Buffer.from(content) : bytesOf(content.base64, name);
    return [Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes, Buffer.from('\r\n')];
  });
  return Buffer.concat([...written, Buffer.from(`--${boundary}--\r\n`)]);
}

const mediaTypeText = /^[a-z0-9!#$&^_.+-]{1,80}\/[a-z0-9!#$&^_.+-]{1,80}(;[\x20-\x7e]{0,100})?$/i;

/** `{base64, filename?, content_type?}`; undefined for anything else. */
function fileOf(item: JsonValue): FilePart | undefined {
  if (!isRecord(item) || !Object.hasOwn(item, 'base64')) return undefined;
  const { base64 = null, filename = null, content_type: contentType = null, ...rest } = item;
  if (Object.keys(rest).length > 0) return undefined;
  if (filename !== null && typeof filename !== 'string')
    throw invalidParam('filename', 'must be a text');
  const isType = typeof contentType === 'string' && mediaTypeText.test(contentType);
  if (contentType !== null && !isType) throw invalidParam('content_type', 'must be a media type');
  return { base64, filename, contentType: isType ? contentType : null };
}

function quoted(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}

/** Base64 with its padding and nothing around it (RFC 4648 §4): what has two readings is refused. */
function bytesOf(value: JsonValue, name: string): Uint8Array {
  const bytes = Buffer.from(typeof value === 'string' ? value : '', 'base64');
  if (bytes.toString('base64') !== value) throw invalidParam(name, 'must be base64');
  return bytes;
}
