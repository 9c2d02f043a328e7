import type { JsonValue } from '#contracts/vocabulary';
import { isObject } from '../mcp/message.ts';
import type { RpcResponse } from '../mcp/message.ts';
import { parseBoundedJson } from './shape-body.ts';

/**
 * What a tool answered, as the body of a call: `content`, `structuredContent` and `isError` as the
 * server gave them, but for bytes, which are named and not spelled out in base64, and for text that
 * only says the structured content again. An error of the protocol is `{error: {code, message}}`.
 */
export function toolBody({ result, error }: RpcResponse): JsonValue {
  if (error !== undefined) {
    const { code, message, data } = error;
    return { error: { code, message, ...(data === undefined ? {} : { data }) } };
  }
  const { content, structuredContent, _meta, resultType, ...rest } = result;
  const blocks = Array.isArray(content) ? content : [];
  const told = blocks.filter((block) => !repeats(block, structuredContent)).map(withoutBytes);
  return {
    ...rest,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(told.length === 0 && structuredContent !== undefined ? {} : { content: told }),
  };
}

function repeats(block: JsonValue, structured: JsonValue | undefined): boolean {
  if (structured === undefined || !isObject(block) || block['type'] !== 'text') return false;
  const { text } = block;
  const parsed = typeof text === 'string' ? parseBoundedJson(text) : undefined;
  return parsed !== undefined && JSON.stringify(parsed) === JSON.stringify(structured);
}

/** Images and sounds carry `data`, embedded resources a `blob`. */
function withoutBytes(block: JsonValue): JsonValue {
  if (!isObject(block)) return block;
  const { data, resource, ...rest } = block;
  if (typeof data === 'string') return { ...rest, omitted: omitted(data) };
  if (isObject(resource)) {
    const { blob, ...others } = resource;
    if (typeof blob === 'string')
      return { ...rest, resource: { ...others, omitted: omitted(blob) } };
  }
  return block;
}

function omitted(base64: string): JsonValue {
  return { reason: 'binary', size: Buffer.byteLength(base64, 'base64') };
}
