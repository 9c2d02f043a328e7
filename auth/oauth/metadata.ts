import type { FastifyInstance } from 'fastify';

import {
  authorizationServerMetadataPath,
  mcpPath,
  protectedResourceMetadataPath,
} from '#contracts/oauth';
import { agentScopes } from '../domain/oauth-scopes.ts';
import { paths } from './paths.ts';

/** What clients discover, made from the base URL alone: no request has a say in it. */
export function registerMetadata(app: FastifyInstance, baseUrl: string): void {
  const cached = { 'cache-control': 'public, max-age=300' };
  const server = authorizationServerMetadata(baseUrl);
  app.get(authorizationServerMetadataPath, (_request, reply) => reply.headers(cached).send(server));
  for (const path of ['', mcpPath]) {
    const resource = protectedResourceMetadata(baseUrl, path);
    app.get(`${protectedResourceMetadataPath}${path}`, (_request, reply) =>
      reply.headers(cached).send(resource),
    );
  }
}

/** RFC 8414 §2. There is no OpenID Connect here, so no document of that name either. */
function authorizationServerMetadata(baseUrl: string) {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}${paths.authorize}`,
    token_endpoint: `${baseUrl}${paths.token}`,
    registration_endpoint: `${baseUrl}${paths.register}`,
    revocation_endpoint: `${baseUrl}${paths.revoke}`,
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

/** RFC 9728 §2: the API as a whole, and the MCP endpoint; tokens for one are good for the other. */
function protectedResourceMetadata(baseUrl: string, path: string) {
  return {
    resource: `${baseUrl}${path}`,
    authorization_servers: [baseUrl],
    scopes_supported: agentScopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Agent Action Gateway',
  };
}
