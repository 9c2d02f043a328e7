import { isConnectionHeader } from '../contracts/request-headers.ts';
import { invalid } from './failures.ts';

export type HeaderPair = [name: string, value: string];
export type HeaderInput = readonly (readonly [string, string])[] | Readonly<Record<string, string>>;

const headBytesMax = 64 * 1024;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** HTAB, visible ASCII and obs-text. Beyond U+00FF a character would be cut to a byte, maybe to a line feed. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Options of `Connection` that name no header we would otherwise send. */
const connectionOptions = new Set(['close', 'keep-alive', '']);

/**
 * Checks headers and leaves out those that are not the caller's to set, as a flat list for undici.
 * A `Connection` that names an end-to-end header is refused, not obeyed: obeying it would let a
 * caller strip the credential that was injected beside it.
 */
export function outgoingHeaders(input: HeaderInput): string[] {
  const flat: string[] = [];
  const spellings = new Map<string, string>();
  let bytes = 0;
  for (const [name, value] of isPairs(input) ? input : Object.entries(input)) {
    bytes += name.length + value.length + 4;
    if (!token.test(name)) throw invalid('A header name contains characters that HTTP forbids.');
    if (!fieldValue.test(value)) {
      throw invalid(`The value of header ${name} contains characters that HTTP forbids.`);
    }
    const lowerCaseName = name.toLowerCase();
    if (lowerCaseName === 'connection') refuseNominations(value);
    if (isConnectionHeader(lowerCaseName)) continue;
    // One spelling for each name: with two, undici gives up a whole HTTP/2 connection and all its calls.
    const spelling = spellings.get(lowerCaseName) ?? name;
    spellings.set(lowerCaseName, spelling);
    flat.push(spelling, value);
  }
  if (bytes > headBytesMax) throw invalid('The headers of the request are larger than 64 KiB.');
  return flat;
}

type RawHeaders =
  | readonly (Buffer | string)[]
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Response headers as they came: order, casing and repetitions kept. Over HTTP/2 they come as an
 * object in which `node:http2` has joined repetitions.
 */
export function incomingHeaders(raw: RawHeaders): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  if (!isFlat(raw)) {
    for (const [name, values] of Object.entries(raw))
      for (const value of [values ?? []].flat()) pairs.push([name, value]);
    return pairs;
  }
  for (let at = 0; at + 1 < raw.length; at += 2) {
    pairs.push([raw[at]!.toString('latin1'), raw[at + 1]!.toString('latin1')]);
  }
  return pairs;
}

/** The values of a header, joined as RFC 9110 §5.3 allows. Undefined when it is absent. */
export function headerValue(pairs: readonly HeaderPair[], name: string): string | undefined {
  let joined: string | undefined;
  for (const [candidate, value] of pairs) {
    if (candidate.length !== name.length || candidate.toLowerCase() !== name) continue;
    joined = joined === undefined ? value : `${joined}, ${value}`;
  }
  return joined;
}

function refuseNominations(value: string): void {
  for (const option of value.toLowerCase().split(',')) {
    const name = option.trim();
    if (connectionOptions.has(name) || isConnectionHeader(name)) continue;
    throw invalid('The Connection header may not name other headers.');
  }
}

function isFlat(raw: RawHeaders): raw is readonly (Buffer | string)[] {
  return Array.isArray(raw);
}

function isPairs(input: HeaderInput): input is readonly (readonly [string, string])[] {
  return Array.isArray(input);
}
