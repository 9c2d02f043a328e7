/** The client of `action-gateway login`, known before anybody registers: the only one with scope `user`. */
export const cliClientId = 'action-gateway-cli';
/** Registered for that client; any port is accepted (RFC 8252 §7.3). */
export const cliRedirectUri = 'http://127.0.0.1/callback';

/** Where the protected resource and the authorization server describe themselves (RFC 9728, RFC 8414). */
export const protectedResourceMetadataPath = '/.well-known/oauth-protected-resource';
export const authorizationServerMetadataPath = '/.well-known/oauth-authorization-server';

/** Path of the one MCP endpoint; with the base URL it names the same audience (RFC 8707). */
export const mcpPath = '/mcp';
