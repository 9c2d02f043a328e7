import { Refusal } from './refusal.ts';

/** Where the gateway listens when nobody says otherwise. */
const defaultUrl = 'http://127.0.0.1:8080';
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The gateway's base URL, without a slash at the end. The address of its MCP endpoint is taken
 * too, because that is what people have at hand.
 *
 * @throws Refusal if it is no URL that a credential may be sent to.
 */
export function parseGatewayUrl(given: string = defaultUrl): string {
  const url = requireSafe(given);
  if (url.search || url.hash || url.username || url.password) {
    throw new Refusal(`${given} is not the address of a gateway: write it like ${defaultUrl}.`);
  }
  return url.href.replace(/\/+$/, '').replace(/\/mcp$/, '');
}

export function mcpEndpoint(gateway: string): URL {
  return new URL(`${gateway}/mcp`);
}

/**
 * Everything we send holds a credential or leads to one: it goes over TLS, or does not leave the
 * machine (RFC 8252 section 8.3, OAuth 2.1 section 1.5).
 */
export function requireSafe(address: string): URL {
  const url = URL.parse(address);
  if (!url) throw new Refusal(`${JSON.stringify(address)} is not a URL.`);
  if (url.protocol === 'https:' || isLoopbackHttp(url)) return url;
  throw new Refusal(`${url.href} is refused: it must be https, or http on this machine.`);
}

export function isLoopbackHttp(url: URL): boolean {
  return url.protocol === 'http:' && loopback.test(url.hostname);
}

/**
 * Whether a protected resource (RFC 9728) speaks for an endpoint: the same origin, and a path
 * that the endpoint's path is or is below.
 */
export function coversEndpoint(resource: string, endpoint: URL): boolean {
  const url = URL.parse(resource);
  if (!url || url.origin !== endpoint.origin || url.hash) return false;
  const folder = url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`;
  return `${endpoint.pathname}/`.startsWith(folder);
}
