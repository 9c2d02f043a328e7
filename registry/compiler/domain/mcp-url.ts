import { hostOf } from '../../servers/domain/hosts.ts';
import { parseBaseUrl } from '../../servers/domain/base-url.ts';

export interface Endpoint {
  readonly origin: string;
  /** The host in the form that permission keys use. */
  readonly host: string;
  /**
   * The path, with a final slash only if the template has one, because servers distinguish paths
   * with and without a final slash.
   */
  readonly path: string;
}

/** Matches a path of RFC 3986 §3.3 that contains no percent signs. */
const plainPath = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+\/?$|^\/$/;

/** Parses the URL of an MCP server, or returns the reason to refuse the URL. */
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
