import type { CallResult } from '#contracts/call';

/** The most that is kept of a replay's answer (docs/reference/limits.md#sizes). */
export const resultBytesMax = 256 * 1024;
const hintBytesMax = 16 * 1024;

/**
 * The result as it is stored: whole when its JSON fits the cap, otherwise without its bodies,
 * saying so. Who ran the call inline still got the whole answer.
 */
export function capResult(result: CallResult): CallResult {
  if (sizeOf(result) <= resultBytesMax) return result;
  const { filtered_body: filteredBody, next, ...rest } = result;
  const bodiless: CallResult = {
    ...rest,
    headers: sizeOf(rest.headers) <= hintBytesMax ? rest.headers : contentHeaders(rest.headers),
    body: null,
    body_omitted: rest.body_omitted ?? {
      reason: 'too_large',
      content_type: (headerOf(rest.headers, 'content-type') ?? '').slice(0, 200),
      size: sizeOf(rest.body),
    },
    ...(next !== undefined && sizeOf(next) <= hintBytesMax ? { next } : {}),
  };
  // The filter's output is what the caller asked for: it stays when it alone fits.
  const filtered =
    filteredBody === undefined ? bodiless : { ...bodiless, filtered_body: filteredBody };
  return sizeOf(filtered) <= resultBytesMax ? filtered : bodiless;
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

function headerOf(headers: CallResult['headers'], name: string): string | undefined {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

function contentHeaders(headers: CallResult['headers']): CallResult['headers'] {
  const type = headerOf(headers, 'content-type');
  return type === undefined ? {} : { 'content-type': type.slice(0, 200) };
}
