import { createHash } from 'node:crypto';

import type { HttpMethod, JsonValue } from '#contracts/vocabulary';

export type HeaderPair = readonly [name: string, value: string];
export type Params = Record<string, JsonValue>;

/** What `disclose` filters read and the approver sees of a request (docs/reference/approvals.md#the-card). */
export interface Projection {
  /** Of a call to an MCP server `tools/call`: that it is a POST says nothing. */
  readonly method: HttpMethod | 'tools/call';
  readonly url: string;
  readonly params: Params;
  /** What the call says; not what every request has, nor what credentials are put in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly content_type: string | null;
  /** The value of the body, before it is written in its media type. */
  readonly body: JsonValue;
}

/** A request as it will be sent, but for credentials and what belongs to the transport. */
export interface BuiltRequest {
  readonly method: HttpMethod;
  readonly url: string;
  /** Names in lower case. */
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
  readonly projection: Projection;
}

/** SHA-256 over method, URL, headers and body bytes: what a person approved is what is sent. */
export function requestDigestOf({ method, url, headers, body }: BuiltRequest): string {
  const head = `[${JSON.stringify(method)},${urlJson(url)},${JSON.stringify(headers)}]`;
  const hash = createHash('sha256').update(head).update('\n');
  return hash.update(body ?? new Uint8Array()).digest('hex');
}

/** What jq reads: `JSON.stringify(projection)`. */
export function projectionJson({ method, url, ...rest }: Projection): string {
  return `{"method":${JSON.stringify(method)},"url":${urlJson(url)},${JSON.stringify(rest).slice(1)}`;
}

/** As the URL parser writes it, a URL has nothing else that JSON escapes; it may be longer than a body. */
function urlJson(url: string): string {
  return url.includes('"') || url.includes('\\') ? JSON.stringify(url) : `"${url}"`;
}
