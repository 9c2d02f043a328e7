import { createHash, createHmac } from 'node:crypto';

import type { HeaderPair } from './built-request.ts';

/** A key of an AWS account, for one service in one region. */
export interface AwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary keys. */
  readonly sessionToken: string | undefined;
  readonly region: string;
  readonly service: string;
}

export interface SignableRequest {
  readonly method: string;
  readonly url: string;
  /** Header names are in lower case. */
  readonly headers: readonly HeaderPair[];
  readonly body: Uint8Array | null;
}

/** Headers that an intermediary may change, or that are added after signing. */
const unsignedHeaders = new Set([
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'expect',
  'te',
  'traceparent',
  'tracestate',
  'transfer-encoding',
  'user-agent',
]);
const signerHeaders = new Set([
  'authorization',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-security-token',
]);

/**
 * Signs a finished request by AWS Signature Version 4. The path and the query are rewritten in the
 * one spelling that is signed. The headers of the signature replace headers of the caller with the
 * same names.
 */
export function signAws(
  { method, url, headers, body }: SignableRequest,
  key: AwsKey,
  nowMs: number,
): { url: string; headers: readonly HeaderPair[]; signature: string } {
  const exactlyEscapedUrl = toExactUrl(url);
  const bodyHash = sha256(body ?? '');
  const completeHeaders: HeaderPair[] = [
    ...headers.filter(([name]) => !signerHeaders.has(name)),
    ['x-amz-content-sha256', bodyHash],
    ['x-amz-date', timestampOf(nowMs)],
  ];
  if (key.sessionToken !== undefined)
    completeHeaders.push(['x-amz-security-token', key.sessionToken]);
  const { host } = new URL(exactlyEscapedUrl);
  const signedHeaders = completeHeaders.filter(
    ([name]) => !unsignedHeaders.has(name) && name !== 'host',
  );
  const { authorization, signature } = authorizationOf(
    { method, url: exactlyEscapedUrl, headers: [...signedHeaders, ['host', host]], bodyHash },
    { key, nowMs },
  );
  return {
    url: exactlyEscapedUrl,
    headers: [...completeHeaders, ['authorization', authorization]],
    signature,
  };
}

/** The value of the header Authorization, for a request that has all its other headers. */
export function authorizationOf(
  {
    method,
    url,
    headers,
    bodyHash,
  }: { method: string; url: string; headers: readonly HeaderPair[]; bodyHash: string },
  { key, nowMs }: { key: AwsKey; nowMs: number },
): { authorization: string; signature: string } {
  const { service, region, accessKeyId, secretAccessKey } = key;
  const [path, query] = splitUrl(url);
  const sortedHeaders = canonicalHeaders(headers);
  const names = sortedHeaders.map(([name]) => name).join(';');
  const canonicalRequest = [
    method,
    canonicalPath(path, service),
    canonicalQuery(query),
    ...sortedHeaders.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    bodyHash,
  ].join('\n');
  const time = timestampOf(nowMs);
  const scope = [time.slice(0, 8), region, service, 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonicalRequest)].join('\n');
  const signingKey = scope.reduce<Buffer | string>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(signingKey, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join('/')}, SignedHeaders=${names}, Signature=${signature}`;
  return { authorization, signature };
}

/** `20150830T123600Z` */
function timestampOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
}

/** A header value has one character per byte (see `headerText`), so `latin1` gives its bytes. */
function sha256(data: string | Uint8Array): string {
  const hash = createHash('sha256');
  return (typeof data === 'string' ? hash.update(data, 'latin1') : hash.update(data)).digest('hex');
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text, 'utf8').digest();
}

function splitUrl(url: string): [path: string, query: string] {
  const [, path = '', query = ''] = /^[^:]+:\/\/[^/?]*([^?]*)\??(.*)$/s.exec(url) ?? [];
  return [path === '' ? '/' : path, query];
}

/**
 * The URL with every byte escaped except unreserved characters. Services compute the signature from
 * the decoded URL, so two spellings of one path must give the same URL here.
 */
function toExactUrl(url: string): string {
  const { origin } = new URL(url);
  const [path, query] = splitUrl(url);
  const exactPath = path.split('/').map(escapeText).join('/');
  const pairs = query.split('&').filter((pair) => pair !== '');
  const exactQuery = pairs.map((pair) => {
    const [name, value] = escapePair(pair);
    return pair.includes('=') ? `${name}=${value}` : name;
  });
  return origin + exactPath + (pairs.length === 0 ? '' : `?${exactQuery.join('&')}`);
}

/** Escapes the name and value of a query parameter. A `+` means a space, as services read it. */
function escapePair(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=');
  const texts = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
  const [name = '', value = ''] = texts.map((text) => escapeText(text.replaceAll('+', '%20')));
  return [name, value];
}

/** Leaves out what is escaped correctly already, because a query may be as long as a body. */
const escapablePattern = /%(?![0-9A-F]{2})(?:[0-9a-fA-F]{2})?|[^A-Za-z0-9\-._~%]/gu;

/**
 * Escapes a text that may contain escapes already. These stay, with their hex digits in capitals.
 */
function escapeText(text: string): string {
  return text.replaceAll(escapablePattern, (found) => {
    if (found.length === 3) return found.toUpperCase();
    if (found.length === 1 && found < '\u0080') return escapedOf(found.charCodeAt(0));
    return Array.from(Buffer.from(found, 'utf8'), escapedOf).join('');
  });
}

function escapedOf(byte: number): string {
  return escapedBytes[byte] ?? '';
}

const escapedBytes = Array.from(
  { length: 256 },
  (_, byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
);

/** These services sign the path as it is. All others normalise it and escape it once more. */
const exactPathServices = new Set(['s3', 's3-outposts', 's3-object-lambda', 's3express']);

function canonicalPath(path: string, service: string): string {
  if (exactPathServices.has(service)) return path;
  const segments = path.split('/').filter((segment) => segment !== '');
  const tidiedTexts = segments.map((segment) => escapeText(segment.replaceAll('%', '%25')));
  const isOpen = path.endsWith('/') && segments.length > 0;
  return `/${tidiedTexts.join('/')}${isOpen ? '/' : ''}`;
}

/** The query parameters, sorted by the bytes of their names and then of their values. */
function canonicalQuery(query: string): string {
  const pairs = query.split('&').filter((pair) => pair !== '');
  return pairs
    .map(escapePair)
    .toSorted(([a, x], [b, y]) => compareTexts(a, b) || compareTexts(x, y))
    .map((pair) => pair.join('='))
    .join('&');
}

function canonicalHeaders(headers: readonly HeaderPair[]): (readonly [string, string])[] {
  const values = new Map<string, string>();
  for (const [name, value] of headers) {
    const tidiedTexts = value.trim().replaceAll(/ +/g, ' ');
    const earlier = values.get(name);
    values.set(name, earlier === undefined ? tidiedTexts : `${earlier},${tidiedTexts}`);
  }
  return [...values].toSorted(([a], [b]) => compareTexts(a, b));
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
