import type { CallResult } from '#contracts/call';

/** The largest result that is stored (docs/reference/limits.md#sizes). */
export const resultBytesMax = 256 * 1024;
const keptPartBytesMax = 16 * 1024;

/**
 * The result as it is stored. If its JSON exceeds the limit, its bodies are left out and
 * `body_omitted` lists them. A caller that waits for the replay gets the whole result.
 */
export function capResult(result: CallResult): CallResult {
  if (jsonBytesOf(result) <= resultBytesMax) return result;
  const { filtered_body: filteredBody, next, ...rest } = result;
  const bodilessResult: CallResult = {
    ...rest,
    headers:
      jsonBytesOf(rest.headers) <= keptPartBytesMax ? rest.headers : contentHeadersOf(rest.headers),
    body: null,
    body_omitted: rest.body_omitted ?? {
      reason: 'too_large',
      content_type: (headerOf(rest.headers, 'content-type') ?? '').slice(0, 200),
      size: jsonBytesOf(rest.body),
    },
    ...(next !== undefined && jsonBytesOf(next) <= keptPartBytesMax ? { next } : {}),
  };
  // The caller asked for the filter's output, so the output is kept when it fits without the body.
  const filteredResult =
    filteredBody === undefined
      ? bodilessResult
      : { ...bodilessResult, filtered_body: filteredBody };
  return jsonBytesOf(filteredResult) <= resultBytesMax ? filteredResult : bodilessResult;
}

function jsonBytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

function headerOf(headers: CallResult['headers'], name: string): string | undefined {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

function contentHeadersOf(headers: CallResult['headers']): CallResult['headers'] {
  const contentType = headerOf(headers, 'content-type');
  return contentType === undefined ? {} : { 'content-type': contentType.slice(0, 200) };
}
