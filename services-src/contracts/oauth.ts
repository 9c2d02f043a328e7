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
