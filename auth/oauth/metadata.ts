import type { FastifyInstance } from 'fastify';

import {
  authorizationServerMetadataPath,
  mcpPath,
  originAt,
  protectedResourceMetadataPath,
} from '#contracts/oauth';
import { agentScopes } from './domain/oauth-scopes.ts';
import { oauthPaths } from './paths.ts';

/**
 * Serves the discovery documents. They depend only on the base URL, with one exception: if the base
 * URL is on loopback, the resource has the name by which the client knows it, because clients
 * refuse any other name (RFC 9728 §3.3).
 */
export function registerMetadata(app: FastifyInstance, baseUrl: string): void {
  const cacheHeaders = { 'cache-control': 'public, max-age=300' };
  const server = authorizationServerMetadataOf(baseUrl);
  app.get(authorizationServerMetadataPath, (_request, reply) =>
    reply.headers(cacheHeaders).send(server),
  );
  for (const path of ['', mcpPath]) {
    app.get(`${protectedResourceMetadataPath}${path}`, ({ headers }, reply) => {
      const origin = originAt(baseUrl, String(headers['x-forwarded-host']));
      return reply.headers(cacheHeaders).send(protectedResourceMetadataOf(baseUrl, origin + path));
    });
  }
}

/**
 * The document of RFC 8414 §2. OpenID Connect is not supported, so there is no
 * openid-configuration.
 */
function authorizationServerMetadataOf(baseUrl: string) {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}${oauthPaths.authorize}`,
    token_endpoint: `${baseUrl}${oauthPaths.token}`,
    registration_endpoint: `${baseUrl}${oauthPaths.register}`,
    revocation_endpoint: `${baseUrl}${oauthPaths.revoke}`,
    scopes_supported: agentScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

/**
 * The document of RFC 9728 §2, for the API and for the MCP endpoint. A token for one is valid for
 * the other.
 */
function protectedResourceMetadataOf(baseUrl: string, resource: string) {
  return {
    resource,
    authorization_servers: [baseUrl],
    scopes_supported: agentScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Agent Action Gateway',
  };
}
