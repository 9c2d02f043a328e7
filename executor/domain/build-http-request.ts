import type { HttpCall } from '#contracts/call';
import type { BodyPart } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { bodyKindOf, invalidParam } from '#templates';
import { parseAddress } from './base-url.ts';
import { boundaryOf } from './build-request.ts';
import { httpUrl } from './http-url.ts';
import { encodeBody } from './request-body.ts';
import type { EncodedBody, Writing } from './request-body.ts';
import { requestHeader } from './request-headers.ts';
import type { BuiltRequest, HeaderPair } from './request.ts';
import { shownHeaders } from './shown-headers.ts';

/** Builds the request of a raw or verb call: what the caller wrote, checked and normalised, and nothing else. */
export function buildHttpRequest({
  call,
  baseUrl,
  callDigest,
}: {
  call: HttpCall;
  baseUrl: string | null;
  callDigest: string;
}): BuiltRequest {
  const { method, body: value } = call;
  const url = httpUrl({ target: call.target, baseUrl, query: call.query });
  const headers: HeaderPair[] = [];
  const names = new Set<string>();
  for (const [name, text] of Object.entries(call.headers)) {
    const header = requestHeader(name, text);
    if (names.has(header[0])) throw invalidParam(name, 'is given twice');
    names.add(header[0]);
    headers.push(header);
  }
  const find = (name: string) => headers.find(([known]) => known === name)?.[1];
  const own = headers.filter(([name]) => name !== 'content-type');
  if (find('accept') === undefined) headers.push(['accept', '*/*']);
  let body: Uint8Array | null = null;
  if (value !== null) {
    const mediaType =
      find('content-type') ??
      (typeof value === 'string' ? 'text/plain; charset=utf-8' : 'application/json');
    const encoded = encodeRaw(value, { mediaType, callDigest });
    body = encoded.bytes;
    const others = headers.filter(([name]) => name !== 'content-type');
    headers.splice(0, headers.length, ...others, ['content-type', encoded.contentType]);
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
      headers: shownHeaders(own),
      content_type: find('content-type') ?? null,
      body: value,
    },
  };
}

/**
 * A text is sent as it is, whatever it is called: the caller has encoded it. Of other values the
 * media type says what they become; bytes are given as `{"base64": "…"}`.
 */
function encodeRaw(
  value: NonNullable<JsonValue>,
  { mediaType, callDigest }: { mediaType: string; callDigest: string },
): EncodedBody {
  const kind = bodyKindOf(mediaType);
  if (typeof value === 'object' && (kind === 'form' || kind === 'multipart')) {
    const boundary = boundaryOf(callDigest);
    return encodeBody(value, { mediaType, ...rawWriting, boundary });
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

/** How a form is written for which there is no schema. */
export const rawWriting: Writing = { partOf, valuesSayFiles: true };

/** Nested values in the bracket form that most form-encoded APIs read. */
function partOf(_name: string, value: JsonValue): BodyPart {
  const isNested = typeof value === 'object' && Object.values(value ?? {}).some(isObject);
  const style = isNested || !Array.isArray(value) ? 'deepObject' : 'form';
  return { style, explode: true, allowReserved: false, contentType: null, isBinary: false };
}

function isObject(value: JsonValue): value is JsonValue[] | Record<string, JsonValue> {
  return typeof value === 'object' && value !== null;
}

/** The permission key that a raw or verb call needs: what is sent must be what was decided on. */
export function httpKeyOf({ method, url }: Pick<BuiltRequest, 'method' | 'url'>): string {
  const { host, pathname } = parseAddress(url);
  return `http:${method}:${host}${pathname}`;
}
