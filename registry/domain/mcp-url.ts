import { hostOf } from './hosts.ts';
import { parseBaseUrl } from './servers.ts';

export interface Endpoint {
  readonly origin: string;
  /** As it stands in keys. */
  readonly host: string;
  /** Exactly as written, with the slash at its end if it has one: servers tell them apart. */
  readonly path: string;
}

/** RFC 3986 §3.3 without percent signs. */
const plainPath = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+\/?$|^\/$/;

/** The endpoint of an MCP server, or a sentence that says what is wrong with its URL. */
export function parseEndpoint(
  text: string,
  isPlainHttpAllowed?: (host: string) => boolean,
): Endpoint | string {
  if (text.includes('{')) return 'Write the URL without variables.';
  const url = parseBaseUrl(text, isPlainHttpAllowed);
  if (typeof url === 'string') return url;
  const { pathname: path } = url;
  if (!plainPath.test(path)) return 'Write the path of the URL with plain characters only.';
  const host = hostOf(url);
  return { origin: `${url.protocol}//${host}`, host, path };
}
