import { randomUUID } from 'node:crypto';

import * as oauth from 'oauth4webapi';
import { z } from 'zod';

import { authenticationOf, createRequestOptions } from '../credential/oauth.ts';
import { oauthClient } from '../credential/file.ts';
import type { OAuthClient } from '../credential/file.ts';
import { exitCodes } from '../exit-codes.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import type { AuthorizationServer } from './discover.ts';

export const redirectPath = '/callback';
const clientName = 'action-gateway mcp';
const softwareId = 'agent-action-gateway-cli';
const supportedAuthMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const;

const registrationAnswer = z.looseObject({
  client_id: oauthClient.shape.client_id,
  client_secret: oauthClient.shape.client_secret,
  token_endpoint_auth_method: oauthClient.shape.token_endpoint_auth_method.optional(),
});

/**
 * The OAuth client that the person has chosen: a client registered by hand, or a client described
 * by a metadata document.
 */
export function createGivenClient(
  server: AuthorizationServer,
  { id, secret }: { id: string; secret: string | undefined },
): OAuthClient {
  if (id.startsWith('https:') && server['client_id_metadata_document_supported'] !== true) {
    throw new Refusal(
      `${server.issuer} takes no client-id metadata documents: leave out --client-id.`,
    );
  }
  return {
    client_id: id,
    ...(secret !== undefined && { client_secret: secret }),
    token_endpoint_auth_method: chooseAuthenticationMethod(server, secret),
  };
}

/**
 * Registers this program as an OAuth client (RFC 7591). The client is public, unless the server
 * does not support public clients.
 */
export async function registerClient(server: AuthorizationServer): Promise<OAuthClient> {
  const endpoint = server.registration_endpoint;
  if (endpoint === undefined) {
    throw new Refusal(
      `${server.issuer} does not register clients: name a registered client with --client-id.`,
    );
  }
  const methods = server.token_endpoint_auth_methods_supported ?? supportedAuthMethods;
  const metadata = {
    client_name: clientName,
    software_id: softwareId,
    application_type: 'native',
    // With a URI without a port, the server accepts any port (RFC 8252 section 7.3). Each login
    // uses a free port.
    redirect_uris: [`http://127.0.0.1${redirectPath}`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method:
      supportedAuthMethods.find((method) => methods.includes(method)) ?? 'none',
  };
  const answer = await oauth
    .dynamicClientRegistrationRequest(server, metadata, createRequestOptions(endpoint))
    .catch((error: unknown) => {
      throw new Refusal(`${endpoint} does not answer (${reasonOf(error)}).`, {
        cause: error,
        exitCode: exitCodes.unreachable,
      });
    });
  const body: unknown = await answer.json().catch(() => undefined);
  const parseResult = registrationAnswer.safeParse(body);
  if (answer.status !== 201 || !parseResult.success) {
    const { error_description: reason = `status ${answer.status}` } = Object(body) as {
      error_description?: unknown;
    };
    throw new Refusal(`${server.issuer} does not register this program: ${String(reason)}.`);
  }
  const { client_id, client_secret: secret, token_endpoint_auth_method: method } = parseResult.data;
  return {
    client_id,
    ...(secret !== undefined && { client_secret: secret }),
    token_endpoint_auth_method: method ?? chooseAuthenticationMethod(server, secret),
  };
}

/**
 * Whether the server still knows a registered client. Servers forget unused clients, and would
 * report that only in the browser. So this function asks the server to revoke a token that does not
 * exist: that succeeds for every client that the server knows (RFC 7009 section 2.2).
 */
export async function isStillKnown(
  server: AuthorizationServer,
  client: OAuthClient,
): Promise<boolean> {
  const endpoint = server.revocation_endpoint;
  if (endpoint === undefined) return true;
  try {
    const answer = await oauth.revocationRequest(
      ...([server, client, authenticationOf(client)] as const),
      randomUUID(),
      createRequestOptions(endpoint),
    );
    await oauth.processRevocationResponse(answer);
    return true;
  } catch (error) {
    return !(error instanceof oauth.ResponseBodyError && error.error === 'invalid_client');
  }
}

function chooseAuthenticationMethod(
  server: AuthorizationServer,
  secret: string | undefined,
): OAuthClient['token_endpoint_auth_method'] {
  if (secret === undefined) return 'none';
  // If the metadata lacks this list, the server supports HTTP Basic (RFC 8414).
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? 'client_secret_basic' : 'client_secret_post';
}
