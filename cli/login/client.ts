import { randomUUID } from 'node:crypto';

import * as oauth from 'oauth4webapi';
import { z } from 'zod';

import { authenticationOf, requestOptions } from '../credential/oauth.ts';
import { oauthClient } from '../credential/file.ts';
import type { OAuthClient } from '../credential/file.ts';
import { Refusal, reasonOf } from '../refusal.ts';
import type { AuthorizationServer } from './discover.ts';

export const redirectPath = '/callback';
const clientName = 'action-gateway mcp';
const softwareId = 'agent-action-gateway-cli';
const knownMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const;

const registered = z.looseObject({
  client_id: oauthClient.shape.client_id,
  client_secret: oauthClient.shape.client_secret,
  token_endpoint_auth_method: oauthClient.shape.token_endpoint_auth_method.optional(),
});

/** A client that somebody has made for us: registered by hand, or by its metadata document. */
export function givenClient(
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
    token_endpoint_auth_method: chooseMethod(server, secret),
  };
}

/** Registers this program (RFC 7591): a public client, unless the server wants it otherwise. */
export async function registerClient(server: AuthorizationServer): Promise<OAuthClient> {
  const endpoint = server.registration_endpoint;
  if (endpoint === undefined) {
    throw new Refusal(
      `${server.issuer} registers nobody: name a client it knows with --client-id.`,
    );
  }
  const methods = server.token_endpoint_auth_methods_supported ?? knownMethods;
  const metadata = {
    client_name: clientName,
    software_id: softwareId,
    application_type: 'native',
    // Any port of it (RFC 8252 section 7.3): each login takes a free one.
    redirect_uris: [`http://127.0.0.1${redirectPath}`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: knownMethods.find((method) => methods.includes(method)) ?? 'none',
  };
  const answer = await oauth
    .dynamicClientRegistrationRequest(server, metadata, requestOptions(endpoint))
    .catch((error: unknown) => {
      throw new Refusal(`${endpoint} does not answer (${reasonOf(error)}).`, { cause: error });
    });
  const body: unknown = await answer.json().catch(() => undefined);
  const parsed = registered.safeParse(body);
  if (answer.status !== 201 || !parsed.success) {
    const { error_description: why = `status ${answer.status}` } = Object(body) as {
      error_description?: unknown;
    };
    throw new Refusal(`${server.issuer} does not register this program: ${String(why)}.`);
  }
  const { client_id, client_secret: secret, token_endpoint_auth_method: method } = parsed.data;
  return {
    client_id,
    ...(secret !== undefined && { client_secret: secret }),
    token_endpoint_auth_method: method ?? chooseMethod(server, secret),
  };
}

/**
 * Whether the server still knows a client of ours: it forgets those that nobody uses, and would
 * tell only the browser. It is asked to revoke a token that does not exist, which it grants to
 * everybody whom it knows (RFC 7009 section 2.2).
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
      requestOptions(endpoint),
    );
    await oauth.processRevocationResponse(answer);
    return true;
  } catch (error) {
    return !(error instanceof oauth.ResponseBodyError && error.error === 'invalid_client');
  }
}

function chooseMethod(
  server: AuthorizationServer,
  secret: string | undefined,
): OAuthClient['token_endpoint_auth_method'] {
  if (secret === undefined) return 'none';
  // RFC 8414: what is not said means Basic.
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? 'client_secret_basic' : 'client_secret_post';
}
