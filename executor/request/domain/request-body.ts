import { isUtf8 } from 'node:buffer';

import type { BodyPart } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { toRawNumbers } from '#exact-json';
import {
  bodyKindOf,
  encode,
  encodeExcept,
  invalidParam,
  isAbsent,
  isRecord,
  limitSentSize,
  takenName,
  pairTexts,
  presentEntries,
  textOf,
} from '#templates';
import type { SentSize, Styled } from '#templates';

export interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Uint8Array;
}

/** How the values of a form are encoded. */
export interface FormEncoding {
  /** How one property is encoded; undefined for the default encoding. */
  readonly partOf: (name: string, value: JsonValue) => BodyPart | undefined;
  /**
   * True when there is no schema. Then only the value itself can show that it is a file (see
   * `fileOf`).
   */
  readonly valuesSayFiles?: true | undefined;
}

interface BodyEncoding extends FormEncoding {
  readonly mediaType: string;
  /**
   * The boundary of a multipart body. It is derived from the digest of the call and not random, so
   * that an approved request can be rebuilt byte for byte.
   */
  readonly boundary: string;
  /**
   * The schema, which shows where a JSON body has numbers. Absent when the caller's value is sent
   * as it is.
   */
  readonly schema?: unknown;
  /** The most bytes that a form may have without its files: the setting CAP_SENT_BODY_BYTES. */
  readonly bytesMax?: number | undefined;
}

const formBytesMaxDefault = 4_194_304;
/** The bytes of a part of a multipart form, in addition to its name and content. */
const partBytes = 150;

/** A file in a form, with its bytes in base64. */
interface FilePart {
  readonly base64: JsonValue;
  readonly filename: string | null;
  readonly contentType: string | null;
}

/**
 * The reserved characters of RFC 3986 that may stay unescaped in a form, because they do not end a
 * name or value.
 */
const reservedInForm = "/?#[]@!$'()*,;:";

/**
 * Encodes a body in its media type (OpenAPI 3.1.0 §4.8.14). The bytes of a binary body are given as
 * base64.
 */
export function encodeBody(value: JsonValue, encoding: BodyEncoding): EncodedBody {
  const { mediaType, boundary, bytesMax = formBytesMaxDefault } = encoding;
  const size = limitSentSize(bytesMax, 'body');
  const kind = bodyKindOf(mediaType);
  if (kind === 'form' || kind === 'multipart') {
    if (!isRecord(value)) throw invalidParam('body', 'must be an object with the fields of a form');
    if (kind === 'form') {
      const text = toFormText(value, encoding.partOf, size);
      return { contentType: mediaType, bytes: Buffer.from(text) };
    }
    const bytes = encodeMultipart(partsOf(value, encoding, size), boundary);
    return { contentType: `multipart/form-data; boundary=${boundary}`, bytes };
  }
  if (kind === 'binary') return { contentType: mediaType, bytes: decodeBase64(value, 'body') };
  const text =
    kind === 'json' ? JSON.stringify(toRawNumbers(value, encoding.schema)) : textOf(value, 'body');
  return { contentType: mediaType, bytes: Buffer.from(text) };
}

/**
 * A body in readable form: a form as its text, a multipart form as its parts, a text file as its
 * text, and any other body as its value.
 */
export function toShownBody(
  value: JsonValue,
  { contentType, partOf, valuesSayFiles }: FormEncoding & { readonly contentType: string | null },
): JsonValue {
  const kind = contentType === null ? undefined : bodyKindOf(contentType);
  if (kind === 'binary') {
    // Without a schema, a text is sent as it is, and bytes are given as `{base64}`.
    const base64 = valuesSayFiles === true ? fileOf(value)?.base64 : value;
    return (base64 !== undefined && readableTextOf(base64)) || value;
  }
  if (!isRecord(value)) return value;
  if (kind === 'form') return toFormText(value, partOf);
  if (kind !== 'multipart') return value;
  return partsOf(value, { partOf, valuesSayFiles }).map(({ content, ...part }) => ({
    ...part,
    ...showContent(content),
  }));
}

function showContent(content: Part['content']): { value: string } | { base64: JsonValue } {
  if (typeof content === 'string') return { value: content };
  const text = readableTextOf(content.base64);
  return text === undefined ? { base64: content.base64 } : { value: text };
}

/**
 * The text of a file that is given in base64. Undefined when the file is not UTF-8 or contains
 * control characters.
 */
function readableTextOf(base64: JsonValue): string | undefined {
  if (typeof base64 !== 'string') return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== base64 || !isUtf8(bytes)) return undefined;
  const text = bytes.toString();
  // oxlint-disable-next-line no-control-regex -- control characters are searched for
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.test(text) ? undefined : text;
}

function toFormText(
  value: Record<string, JsonValue>,
  partOf: FormEncoding['partOf'],
  size?: SentSize,
): string {
  const names = new Set(Object.keys(value));
  const pairs = Object.entries(value).flatMap(([name, each]) => {
    if (isAbsent(each)) return [];
    const part = partOf(name, each);
    const isJson = part?.contentType ? bodyKindOf(part.contentType) === 'json' : isRecord(each);
    const style = part?.style ?? (isJson ? 'json' : 'form');
    const styled: Styled = { name, wireName: name, style, explode: part?.explode ?? true, size };
    const taken = takenName(each, styled, names);
    if (taken !== undefined) {
      throw invalidParam(name, `holds "${taken}", which is a field of its own`);
    }
    return pairTexts(each, styled, (text) =>
      part?.allowReserved ? encodeExcept(text, name, reservedInForm) : encode(text, name),
    );
  });
  return pairs.join('&');
}

/** One part of a multipart form, before it is written as bytes. */
interface Part {
  readonly name: string;
  readonly filename?: string;
  readonly content_type?: string;
  readonly content: string | { readonly base64: JsonValue };
}

/**
 * The parts of a multipart form (RFC 7578): a list gives one part per item, and objects are written
 * as JSON.
 */
function partsOf(
  value: Record<string, JsonValue>,
  { partOf, valuesSayFiles }: FormEncoding,
  size?: SentSize,
): Part[] {
  return presentEntries(value).flatMap(([name, each]) => {
    const part = partOf(name, each);
    const isJson = part?.contentType ? bodyKindOf(part.contentType) === 'json' : false;
    const items = Array.isArray(each) && !isJson ? each : [each];
    return items.map((item) => {
      const isFile = part?.isBinary === true;
      const fileValue = isFile || valuesSayFiles === true ? fileOf(item) : undefined;
      const file =
        fileValue ?? (isFile ? { base64: item, filename: null, contentType: null } : fileValue);
      if (file !== undefined) {
        size?.add(partBytes + name.length);
        return toFilePart(file, { name, part });
      }
      const textPart = toTextPart(item, { name, part });
      size?.add(partBytes + name.length + textPart.content.length);
      return textPart;
    });
  });
}

interface PartOptions {
  readonly name: string;
  readonly part: BodyPart | undefined;
}

function toTextPart(item: JsonValue, { name, part }: PartOptions): Part & { content: string } {
  const isObject = typeof item === 'object';
  const type = part?.contentType ?? (isObject ? 'application/json' : undefined);
  const isJson = isObject || (type !== undefined && bodyKindOf(type) === 'json');
  const content = isJson ? JSON.stringify(item) : textOf(item, name);
  return { name, ...(type === undefined ? {} : { content_type: type }), content };
}

function toFilePart(
  { base64, filename, contentType }: FilePart,
  { name, part }: PartOptions,
): Part {
  return {
    name,
    filename: filename ?? name,
    content_type: contentType ?? part?.contentType ?? 'application/octet-stream',
    content: { base64 },
  };
}

function encodeMultipart(parts: readonly Part[], boundary: string): Uint8Array {
  const writtenParts = parts.flatMap(({ name, filename, content_type: type, content }) => {
    const file = filename === undefined ? '' : `; filename="${quoteParameter(filename)}"`;
    const head = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="${quoteParameter(name)}"${file}`,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    ];
    const bytes =
      typeof content === 'string' ? Buffer.from(content) : decodeBase64(content.base64, name);
    return [Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes, Buffer.from('\r\n')];
  });
  return Buffer.concat([...writtenParts, Buffer.from(`--${boundary}--\r\n`)]);
}

const mediaTypePattern =
  /^[a-z0-9!#$&^_.+-]{1,80}\/[a-z0-9!#$&^_.+-]{1,80}(;[\x20-\x7e]{0,100})?$/i;

/** Reads a file given as `{base64, filename?, content_type?}`. Undefined for any other value. */
function fileOf(item: JsonValue): FilePart | undefined {
  if (!isRecord(item) || !Object.hasOwn(item, 'base64')) return undefined;
  const { base64 = null, filename = null, content_type: contentType = null, ...rest } = item;
  if (Object.keys(rest).length > 0) return undefined;
  if (filename !== null && typeof filename !== 'string')
    throw invalidParam('filename', 'must be a text');
  const isType = typeof contentType === 'string' && mediaTypePattern.test(contentType);
  if (contentType !== null && !isType) throw invalidParam('content_type', 'must be a media type');
  return { base64, filename, contentType: isType ? contentType : null };
}

function quoteParameter(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}

/**
 * Decodes base64 that has its padding and no other characters (RFC 4648 §4). Refuses a text that
 * decoders could read in two ways.
 */
function decodeBase64(value: JsonValue, name: string): Uint8Array {
  const bytes = Buffer.from(typeof value === 'string' ? value : '', 'base64');
  if (bytes.toString('base64') !== value)
    throw invalidParam(name, 'must be base64, with padding and without line breaks');
  return bytes;
}
