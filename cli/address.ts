import { Refusal, misuse } from './refusal.ts';

/** The gateway's default address. */
const defaultUrl = 'http://127.0.0.1:8080';
const loopbackHostPattern = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * The gateway's base URL, without a slash at the end. The URL of its MCP endpoint is accepted too,
 * because that is the URL that people often copy.
 *
 * @throws Refusal if the text is not a URL to which a credential may be sent.
 */
export function parseGatewayUrl(address: string = defaultUrl): string {
  let url: URL;
  try {
    url = parseSafeUrl(address);
  } catch (error) {
    throw error instanceof Refusal ? misuse(error.message) : error;
  }
  if (url.search || url.hash || url.username || url.password) {
    throw misuse(
      `${hidePassword(url)} is not the address of a gateway: write it like ${defaultUrl}.`,
    );
  }
  return url.href.replace(/\/+$/, '').replace(/\/mcp$/, '');
}

export function mcpEndpoint(gateway: string): URL {
  return new URL(`${gateway}/mcp`);
}

/**
 * Throws unless the address uses TLS or is on this machine. The reason is that every request
 * carries a credential, or belongs to the login that leads to a credential (RFC 8252 section 8.3,
 * OAuth 2.1 section 1.5).
 */
export function parseSafeUrl(address: string): URL {
  const url = URL.parse(address);
  if (!url) throw new Refusal(`${JSON.stringify(address)} is not a URL.`);
  if (url.protocol === 'https:' || isLoopbackHttp(url)) return url;
  throw new Refusal(`${hidePassword(url)} is refused: it must be https, or http on this machine.`);
}

/** The URL for a message: without a user name and a password, which may be secret. */
function hidePassword({ href }: URL): string {
  const url = new URL(href);
  url.username = '';
  url.password = '';
  return url.href;
}

export function isLoopbackHttp(url: URL): boolean {
  return url.protocol === 'http:' && loopbackHostPattern.test(url.hostname);
}

/** Says what a person can do when a gateway does not answer at the address. */
export function adviseOnAddress(gateway: string): string {
  const url = URL.parse(gateway);
  if (url?.hostname !== '[::1]') return 'Check the address, and that it is running.';
  const address = gateway.replace('[::1]', '127.0.0.1');
  return `A gateway without the setting HOST listens at 127.0.0.1 alone: use ${address}, or start it with HOST=::1.`;
}

/**
 * Whether a protected resource (RFC 9728) covers an endpoint: both have the same origin, and the
 * resource's path equals the endpoint's path or is a parent of it.
 */
export function coversEndpoint(resource: string, endpoint: URL): boolean {
  const url = URL.parse(resource);
  if (!url || url.origin !== endpoint.origin || url.hash) return false;
  const resourceFolder = url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`;
  return `${endpoint.pathname}/`.startsWith(resourceFolder);
}
