import { isConnectionHeader, isHeaderName } from '../contracts/request-headers.ts';
import { invalidRequest } from './failures.ts';
import type { HeaderPair } from './header-pair.ts';

export type HeaderInput = readonly (readonly [string, string])[] | Readonly<Record<string, string>>;

const headBytesMax = 64 * 1024;
/**
 * HTAB, visible ASCII and obs-text. A character beyond U+00FF would be cut to one byte, which may
 * be a line feed.
 */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Values of `Connection` that are options and not the names of headers to remove. */
const connectionOptions = new Set(['close', 'keep-alive', '']);

/**
 * Checks headers, removes those that callers may not set, and returns a flat list for undici. A
 * `Connection` header that names an end-to-end header is refused: obeying it would let a caller
 * remove the credential that the gateway injected.
 */
export function toOutgoingHeaders(input: HeaderInput): string[] {
  const flatHeaders: string[] = [];
  const spellings = new Map<string, string>();
  let headBytes = 0;
  for (const [name, value] of isPairs(input) ? input : Object.entries(input)) {
    headBytes += name.length + value.length + 4;
    if (!isHeaderName(name))
      throw invalidRequest('A header name contains characters that HTTP forbids.');
    if (!fieldValue.test(value)) {
      throw invalidRequest(`The value of header ${name} contains characters that HTTP forbids.`);
    }
    const lowerCaseName = name.toLowerCase();
    if (lowerCaseName === 'connection') refuseNominations(value);
    if (isConnectionHeader(lowerCaseName)) continue;
    // All repetitions of a header name are written in the same letter case: when they differ,
    // undici closes the whole HTTP/2 connection with all its calls.
    const spelling = spellings.get(lowerCaseName) ?? name;
    spellings.set(lowerCaseName, spelling);
    flatHeaders.push(spelling, value);
  }
  if (headBytes > headBytesMax)
    throw invalidRequest('The headers of the request are larger than 64 KiB.');
  return flatHeaders;
}

type RawHeaders =
  | readonly (Buffer | string)[]
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Response headers as received, with order, casing and repetitions. Over HTTP/2 they are an object
 * in which `node:http2` has joined repetitions.
 */
export function toIncomingHeaders(rawHeaders: RawHeaders): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  if (!isFlatList(rawHeaders)) {
    for (const [name, values] of Object.entries(rawHeaders))
      for (const value of [values ?? []].flat()) pairs.push([name, value]);
    return pairs;
  }
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    pairs.push([rawHeaders[index]!.toString('latin1'), rawHeaders[index + 1]!.toString('latin1')]);
  }
  return pairs;
}

/** The values of a header, joined as RFC 9110 §5.3 allows; undefined when it is absent. */
export function headerValueOf(pairs: readonly HeaderPair[], name: string): string | undefined {
  let joinedValue: string | undefined;
  for (const [candidate, value] of pairs) {
    if (candidate.length !== name.length || candidate.toLowerCase() !== name) continue;
    joinedValue = joinedValue === undefined ? value : `${joinedValue}, ${value}`;
  }
  return joinedValue;
}

function refuseNominations(value: string): void {
  for (const option of value.toLowerCase().split(',')) {
    const name = option.trim();
    if (connectionOptions.has(name) || isConnectionHeader(name)) continue;
    throw invalidRequest('The Connection header may not name other headers.');
  }
}

function isFlatList(rawHeaders: RawHeaders): rawHeaders is readonly (Buffer | string)[] {
  return Array.isArray(rawHeaders);
}

function isPairs(input: HeaderInput): input is readonly (readonly [string, string])[] {
  return Array.isArray(input);
}
