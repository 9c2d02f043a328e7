/**
 * The OAuth client of `action-gateway login`. It exists before any client registers, and is the
 * only one with the scope `user`.
 */
export const cliClientId = 'action-gateway-cli';
/** The redirect URI of `action-gateway login`, which may use any port (RFC 8252 §7.3). */
export const cliRedirectUri = 'http://127.0.0.1/callback';

/**
 * The paths of the metadata of the protected resource and the authorization server (RFC 9728, RFC
 * 8414).
 */
export const protectedResourceMetadataPath = '/.well-known/oauth-protected-resource';
export const authorizationServerMetadataPath = '/.well-known/oauth-authorization-server';

/**
 * The path of the MCP endpoint. A token whose audience is the base URL or this URL is accepted for
 * both (RFC 8707).
 */
export const mcpPath = '/mcp';

/** The names of this machine for itself. */
export const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * The origins of a gateway whose base URL is on loopback: its port under each name that this machine
 * has for itself. A person or a client may use any of them. For any other base URL, the base URL alone.
 */
export function originsOf(baseUrl: string): string[] {
  const { protocol, hostname, port } = new URL(baseUrl);
  if (!loopbackNames.includes(hostname)) return [baseUrl];
  return loopbackNames.map((name) => new URL(`${protocol}//${name}:${port}`).origin);
}

/** The origins by host for the last base URL, because every request asks for its origin. */
let known: { readonly baseUrl: string; readonly originByHost: ReadonlyMap<string, string> } = {
  baseUrl: '',
  originByHost: new Map(),
};

/**
 * The origin under which a request with this `Host` reached the gateway. Clients compare the resource
 * in the metadata with the address that they were given (RFC 9728 §3.3).
 */
export function originAt(baseUrl: string, host: string | undefined): string {
  if (known.baseUrl !== baseUrl) {
    const origins = originsOf(baseUrl).map((origin) => [new URL(origin).host, origin] as const);
    known = { baseUrl, originByHost: new Map(origins) };
  }
  return known.originByHost.get(host?.toLowerCase() ?? '') ?? baseUrl;
}
