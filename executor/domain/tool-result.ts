import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../mcp/message.ts';
import type { RpcResponse } from '../mcp/message.ts';
import { parseBoundedJson } from './shape-body.ts';

/** Bytes in a tool's answer: an image, a sound, or the blob of an embedded resource. */
export interface ToolBytes {
  /** JSON pointer (RFC 6901) to where they stand in the body. */
  readonly at: string;
  readonly base64: string;
  /** As the server says it. */
  readonly mediaType: string;
  /** Under which it may be saved; the end of the resource's URI, if it has one. */
  readonly name: string;
}

/** What became of bytes: kept as a file, or why not. */
export type BytesFate = 'file' | 'too_many' | 'too_large' | 'not_stored';

/** The bytes of an answer, in order. */
export function toolBytes({ result }: RpcResponse): ToolBytes[] {
  if (result === undefined) return [];
  return toldBlocks(result).flatMap((block, index) => {
    const found = bytesIn(block);
    if (found === undefined) return [];
    const { base64, mediaType, uri } = found;
    const name = nameOf(uri) ?? `${found.kind}-${index + 1}${extensionOf(mediaType)}`;
    return [{ at: pointerTo(index), base64, mediaType, name }];
  });
}

/**
 * What a tool answered, as the body of a call: `content`, `structuredContent` and `isError` as the
 * server gave them, but for bytes, of which only the size stays and what became of them, and for text that
 * only says the structured content again. An error of the protocol is `{error: {code, message}}`.
 */
export function toolBody(
  { result, error }: RpcResponse,
  fates: ReadonlyMap<string, BytesFate>,
): JsonValue {
  if (error !== undefined) {
    const { code, message, data } = error;
    return { error: { code, message, ...(data === undefined ? {} : { data }) } };
  }
  const { content: _content, structuredContent, _meta, resultType, ...rest } = result;
  const told = toldBlocks(result).map((block, index) => {
    const reason = fates.get(pointerTo(index)) ?? 'not_stored';
    return withoutBytes(block, reason);
  });
  // Anything but a whole result (2026-07-28) is said so.
  const isWhole = resultType === undefined || resultType === 'complete';
  return {
    ...rest,
    ...(isWhole ? {} : { resultType }),
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(told.length === 0 && structuredContent !== undefined ? {} : { content: told }),
  };
}

type Result = NonNullable<RpcResponse['result']>;

function toldBlocks({ content, structuredContent }: Result): JsonValue[] {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.filter((block) => !repeats(block, structuredContent));
}

const pointerTo = (index: number) => `/content/${index}`;

function repeats(block: JsonValue, structured: JsonValue | undefined): boolean {
  if (structured === undefined || !isObject(block) || block['type'] !== 'text') return false;
  const { text } = block;
  const parsed = typeof text === 'string' ? parseBoundedJson(text) : undefined;
  return parsed !== undefined && JSON.stringify(parsed) === JSON.stringify(structured);
}

interface FoundBytes {
  readonly kind: string;
  readonly base64: string;
  readonly mediaType: string;
  readonly uri: string | null;
}

/** Images and sounds carry `data`, embedded resources a `blob`. */
function bytesIn(block: JsonValue): FoundBytes | undefined {
  if (!isObject(block)) return undefined;
  const { type, data, mimeType, resource } = block;
  if (typeof data === 'string') {
    const kind = type === 'image' || type === 'audio' ? type : 'data';
    return { kind, base64: data, mediaType: textOf(mimeType), uri: null };
  }
  if (!isObject(resource) || typeof resource['blob'] !== 'string') return undefined;
  const { blob, uri } = resource;
  const mediaType = textOf(resource['mimeType']);
  return { kind: 'resource', base64: blob, mediaType, uri: textOf(uri) };
}

function withoutBytes(block: JsonValue, reason: BytesFate): JsonValue {
  const found = bytesIn(block);
  if (found === undefined || !isObject(block)) return block;
  const omitted = { reason, size: Buffer.byteLength(found.base64, 'base64') };
  const { data: _data, resource, ...rest } = block;
  if (found.kind !== 'resource' || !isObject(resource)) return { ...rest, omitted };
  const { blob: _blob, ...others } = resource;
  return { ...rest, resource: { ...others, omitted } };
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.slice(0, 2_000) : '';
}

function nameOf(uri: string | null): string | undefined {
  const last = uri?.split(/[?#]/)[0]?.split('/').at(-1);
  if (last === undefined || last === '') return undefined;
  try {
    return decodeURIComponent(last);
  } catch {
    return last; // Not UTF-8: taken as it stands.
  }
}

function extensionOf(mediaType: string): string {
  const subtype = /^[a-z]+\/([a-z0-9]{1,10})(?:[+;\s]|$)/i.exec(mediaType)?.[1];
  return subtype === undefined ? '' : `.${subtype.toLowerCase()}`;
}
