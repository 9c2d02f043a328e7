import { createHash } from 'node:crypto';

import type { HttpMethod, JsonValue } from '#contracts/vocabulary';

export type HeaderPair = readonly [name: string, value: string];
export type Params = Record<string, JsonValue>;

/**
 * The view of a request that `disclose` filters read and the approver sees
 * (docs/reference/approvals.md#the-card).
 */
export interface Projection {
  /**
   * The HTTP method. For a call to an MCP server it is `tools/call` instead, because all these
   * calls are POSTs.
   */
  readonly method: HttpMethod | 'tools/call';
  readonly url: string;
  readonly params: Params;
  /**
   * The headers that the call sets. Headers of every request and headers with credentials are left
   * out.
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly content_type: string | null;
  /**
   * The value of the body before it is encoded in its media type. For a composed message, its
   * fields.
   */
  readonly body: JsonValue;
}

/** A request as it will be sent, without credentials and transport headers. */
export interface BuiltRequest {
  readonly method: HttpMethod;
  readonly url: string;
  /** Header names are in lower case. */
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
  readonly projection: Projection;
}

/**
 * The SHA-256 of method, URL, headers and body bytes. A replay compares it with the digest of the
 * approved request.
 */
export function requestDigestOf({ method, url, headers, body }: BuiltRequest): string {
  const headJson = `[${JSON.stringify(method)},${toUrlJson(url)},${JSON.stringify(headers)}]`;
  const hash = createHash('sha256').update(headJson).update('\n');
  return hash.update(body ?? new Uint8Array()).digest('hex');
}

/**
 * The input of jq: the same text as `JSON.stringify(projection)`, but made faster for long URLs.
 */
export function toProjectionJson({ method, url, ...rest }: Projection): string {
  return `{"method":${JSON.stringify(method)},"url":${toUrlJson(url)},${JSON.stringify(rest).slice(1)}`;
}

/**
 * Escapes a URL only if it contains a character that JSON escapes. Most URLs contain none, and a
 * URL may be longer than a body.
 */
function toUrlJson(url: string): string {
  return url.includes('"') || url.includes('\\') ? JSON.stringify(url) : `"${url}"`;
}
