import type { HttpCall } from '#contracts/call';
import { refusalOfRawHeaderName } from '#contracts/request-headers';
import type { BodyPart } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { bodyKindOf, invalidParam } from '#templates';
import { parseAddress } from './base-url.ts';
import { boundaryOf } from './build-action-request.ts';
import { httpUrlOf } from './http-url.ts';
import { encodeBody } from './request-body.ts';
import type { EncodedBody, FormEncoding } from './request-body.ts';
import { toRequestHeader } from './request-headers.ts';
import type { BuiltRequest, HeaderPair } from './built-request.ts';
import { toShownHeaders } from './shown-headers.ts';

/**
 * Builds the request of a call by HTTP method and path or full URL. Checks and normalises the
 * caller's input, and adds nothing.
 */
export function buildHttpRequest({
  call,
  baseUrl,
  callDigest,
  bodyBytesMax,
}: {
  call: HttpCall;
  baseUrl: string | null;
  callDigest: string;
  /** The setting CAP_SENT_BODY_BYTES; its default if absent. */
  bodyBytesMax?: number | undefined;
}): BuiltRequest {
  const { method, body: value } = call;
  const url = httpUrlOf({ target: call.target, baseUrl, query: call.query });
  const headers: HeaderPair[] = [];
  const headerNames = new Set<string>();
  for (const [name, text] of Object.entries(call.headers)) {
    const refusal = refusalOfRawHeaderName(name);
    if (refusal !== undefined) throw invalidParam(name, refusal);
    const header = toRequestHeader(name, text);
    if (headerNames.has(header[0])) throw invalidParam(name, 'is given twice');
    headerNames.add(header[0]);
    headers.push(header);
  }
  const findHeader = (name: string) => headers.find(([known]) => known === name)?.[1];
  const ownHeaders = headers.filter(([name]) => name !== 'content-type');
  if (findHeader('accept') === undefined) headers.push(['accept', '*/*']);
  let body: Uint8Array | null = null;
  if (value !== null) {
    const mediaType =
      findHeader('content-type') ??
      (typeof value === 'string' ? 'text/plain; charset=utf-8' : 'application/json');
    const encodedBody = encodeRaw(value, { mediaType, callDigest, bytesMax: bodyBytesMax });
    body = encodedBody.bytes;
    const otherHeaders = headers.filter(([name]) => name !== 'content-type');
    headers.splice(0, headers.length, ...otherHeaders, ['content-type', encodedBody.contentType]);
  }
  return {
    method,
    url,
    headers,
    body,
    projection: {
      method,
      url,
      params: { ...call.query },
      headers: toShownHeaders(ownHeaders),
      content_type: findHeader('content-type') ?? null,
      body: value,
    },
  };
}

/**
 * Encodes the body of a call by HTTP method and path or full URL. A text is sent unchanged, because
 * the caller has encoded it already. Other values are encoded in the media type of the request;
 * bytes are given as `{"base64": "…"}`.
 */
function encodeRaw(
  value: NonNullable<JsonValue>,
  {
    mediaType,
    callDigest,
    bytesMax,
  }: { mediaType: string; callDigest: string; bytesMax: number | undefined },
): EncodedBody {
  const kind = bodyKindOf(mediaType);
  if (typeof value === 'object' && (kind === 'form' || kind === 'multipart')) {
    const boundary = boundaryOf(callDigest);
    return encodeBody(value, { mediaType, ...rawFormEncoding, boundary, bytesMax });
  }
  if (typeof value !== 'string' && kind === 'binary') {
    if (!isBase64(value)) throw invalidParam('body', 'must be a text or {"base64": "…"}');
    return encodeBody(value.base64, { mediaType, partOf, boundary: '' });
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { contentType: mediaType, bytes: Buffer.from(text) };
}

function isBase64(value: JsonValue): value is { base64: JsonValue } {
  return isObject(value) && Object.keys(value).join() === 'base64';
}

/** The encoding of a form for which there is no schema. */
export const rawFormEncoding: FormEncoding = { partOf, valuesSayFiles: true };

/**
 * Nested values are written with brackets (`a[b]=c`), which most APIs with form-encoded bodies
 * read.
 */
function partOf(_name: string, value: JsonValue): BodyPart {
  const isNested = typeof value === 'object' && Object.values(value ?? {}).some(isObject);
  const style = isNested || !Array.isArray(value) ? 'deepObject' : 'form';
  return { style, explode: true, allowReserved: false, contentType: null, isBinary: false };
}

function isObject(value: JsonValue): value is JsonValue[] | Record<string, JsonValue> {
  return typeof value === 'object' && value !== null;
}

/**
 * The permission key of a call by HTTP method and path or full URL. The permit must contain the key
 * of the request that is sent.
 */
export function httpKeyOf({ method, url }: Pick<BuiltRequest, 'method' | 'url'>): string {
  const { host, pathname } = parseAddress(url);
  return `http:${method}:${host}${pathname}`;
}
