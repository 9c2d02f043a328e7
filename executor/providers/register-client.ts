import type { AuthorizationServer } from 'oauth4webapi';
import { z } from 'zod';

import { oauthProvider } from '#contracts/oauth-provider';
import type { OauthProvider } from '#contracts/oauth-provider';
import { AppError } from '#errors';
import { parseBoundedJson } from '../answers/domain/shape-body.ts';
import { askServer } from './guarded-fetch.ts';
import type { ReadingDeps } from './guarded-fetch.ts';

/** The gateway's OAuth client at a provider. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** The authentication method that the provider requires, if it names one. */
  readonly authentication?: OauthProvider['client_authentication'] | undefined;
}

interface Registration {
  readonly server: Partial<AuthorizationServer>;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
}

const authentication = oauthProvider.shape.client_authentication;
const printablePattern = /^[\x20-\x7e]+$/;
/**
 * The response of RFC 7591 §3.2.1. Some fields that the RFC requires are optional here, because
 * many servers leave them out.
 */
const registrationResponse = z.object({
  client_id: z.string().max(500).regex(printablePattern),
  client_secret: z.string().max(2000).regex(printablePattern).optional(),
  token_endpoint_auth_method: authentication.optional().catch(undefined),
});

/**
 * Registers a client with a provider that allows dynamic registration (RFC 7591). For any other
 * provider throws `invalid_params` about `client_id`, because an admin must supply the client.
 */
export async function registerClient(
  readingDeps: ReadingDeps,
  { server, redirectUri, scopes }: Registration,
): Promise<RegisteredClient> {
  const { registration_endpoint: url } = server;
  if (url === undefined) throw needsClientError('the provider does not register clients by itself');
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const registrationRequest = {
    redirect_uris: [redirectUri],
    client_name: 'Agent Action Gateway',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method:
      authentication.options.find((each) => methods.includes(each)) ?? 'none',
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
  };
  const headers = [
    ['accept', 'application/json'],
    ['content-type', 'application/json'],
  ] as const;
  const body = Buffer.from(JSON.stringify(registrationRequest));
  const answer = await askServer(readingDeps, { method: 'POST', url, headers, body }).catch(
    (error: unknown) => {
      throw needsClientError(`it could not be registered. ${AppError.from(error).message}`);
    },
  );
  const registrationAnswer = parseBoundedJson(Buffer.from(answer.body).toString('utf8'));
  const client = registrationResponse.safeParse(
    answer.status < 300 ? registrationAnswer : undefined,
  );
  if (!client.success) throw needsClientError('the provider refused to register one');
  const { client_id, client_secret, token_endpoint_auth_method: method } = client.data;
  return { clientId: client_id, clientSecret: client_secret, authentication: method };
}

function needsClientError(reason: string): AppError {
  const message = `is required: ${reason}`;
  return new AppError('invalid_params', `client_id ${message}.`, {
    details: { issues: [{ path: 'client_id', message }] },
  });
}
