import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from './message.ts';
import type { RpcResponse } from './message.ts';
import { parseBoundedJson } from '../../answers/domain/shape-body.ts';

/** Bytes in a tool's answer: an image, a sound, or the blob of an embedded resource. */
export interface ToolBytes {
  /** JSON pointer (RFC 6901) to the block that contains the bytes. */
  readonly at: string;
  readonly base64: string;
  /** The media type that the server gives. */
  readonly mediaType: string;
  /** The file name: the last segment of the resource's URI, or a generated name. */
  readonly name: string;
}

/** What happened to the bytes: they were kept as a file, or the reason why they were not. */
export type BytesOutcome = 'file' | 'too_many' | 'too_large' | 'not_stored';

/** All bytes in a tool's answer, in order. */
export function listToolBytes({ result }: RpcResponse): ToolBytes[] {
  if (result === undefined) return [];
  return shownBlocksOf(result).flatMap((block, index) => {
    const binary = bytesIn(block);
    if (binary === undefined) return [];
    const { base64, mediaType, uri } = binary;
    const name = nameOf(uri) ?? `${binary.kind}-${index + 1}${extensionOf(mediaType)}`;
    return [{ at: pointerTo(index), base64, mediaType, name }];
  });
}

/**
 * Turns a tool's answer into the body of a call: `content`, `structuredContent` and `isError` as
 * the server sent them. In place of bytes the body has their size and what happened to them. A text
 * that only repeats the structured content is left out. A protocol error becomes `{error: {code,
 * message}}`.
 */
export function toToolBody(
  { result, error }: RpcResponse,
  outcomes: ReadonlyMap<string, BytesOutcome>,
): JsonValue {
  if (error !== undefined) {
    const { code, message, data } = error;
    return { error: { code, message, ...(data === undefined ? {} : { data }) } };
  }
  const { content: _content, structuredContent, _meta, resultType, ...rest } = result;
  const shownTexts = shownBlocksOf(result).map((block, index) => {
    const reason = outcomes.get(pointerTo(index)) ?? 'not_stored';
    return replaceBytes(block, reason);
  });
  // A result that is not complete (protocol revision 2026-07-28) keeps its `resultType`.
  const isComplete = resultType === undefined || resultType === 'complete';
  return {
    ...rest,
    ...(isComplete ? {} : { resultType }),
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(shownTexts.length === 0 && structuredContent !== undefined ? {} : { content: shownTexts }),
  };
}

type Result = NonNullable<RpcResponse['result']>;

function shownBlocksOf({ content, structuredContent }: Result): JsonValue[] {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.filter((block) => !repeatsStructured(block, structuredContent));
}

const pointerTo = (index: number) => `/content/${index}`;

function repeatsStructured(block: JsonValue, structured: JsonValue | undefined): boolean {
  if (structured === undefined || !isObject(block) || block['type'] !== 'text') return false;
  const { text } = block;
  const parsedText = typeof text === 'string' ? parseBoundedJson(text) : undefined;
  return parsedText !== undefined && JSON.stringify(parsedText) === JSON.stringify(structured);
}

interface FoundBytes {
  readonly kind: string;
  readonly base64: string;
  readonly mediaType: string;
  readonly uri: string | null;
}

/**
 * The bytes of a content block. Images and sounds have them in `data`, embedded resources in
 * `blob`.
 */
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

function replaceBytes(block: JsonValue, reason: BytesOutcome): JsonValue {
  const binary = bytesIn(block);
  if (binary === undefined || !isObject(block)) return block;
  const omittedBlock = { reason, size: Buffer.byteLength(binary.base64, 'base64') };
  const { data: _data, resource, ...rest } = block;
  if (binary.kind !== 'resource' || !isObject(resource)) return { ...rest, omitted: omittedBlock };
  const { blob: _blob, ...others } = resource;
  return { ...rest, resource: { ...others, omitted: omittedBlock } };
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
    return last; // The name is not valid percent-encoded UTF-8, so it is used without decoding.
  }
}

function extensionOf(mediaType: string): string {
  const subtype = /^[a-z]+\/([a-z0-9]{1,10})(?:[+;\s]|$)/i.exec(mediaType)?.[1];
  return subtype === undefined ? '' : `.${subtype.toLowerCase()}`;
}
