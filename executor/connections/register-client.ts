import type { AuthorizationServer } from 'oauth4webapi';
import { z } from 'zod';

import { oauthProvider } from '#contracts/oauth-provider';
import type { OauthProvider } from '#contracts/oauth-provider';
import { AppError } from '#errors';
import { parseBoundedJson } from '../domain/shape-body.ts';
import { ask } from './guarded-fetch.ts';
import type { Reading } from './guarded-fetch.ts';

/** What we are known as at a provider. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** How it wants to see them, where it said so. */
  readonly authentication?: OauthProvider['client_authentication'] | undefined;
}

interface Registration {
  readonly server: Partial<AuthorizationServer>;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
}

const authentication = oauthProvider.shape.client_authentication;
const printable = /^[\x20-\x7e]+$/;
/** RFC 7591 §3.2.1, without what many leave out although they must not. */
const registered = z.object({
  client_id: z.string().max(500).regex(printable),
  client_secret: z.string().max(2000).regex(printable).optional(),
  token_endpoint_auth_method: authentication.optional().catch(undefined),
});

/**
 * Registers a client with a provider that takes anybody's (RFC 7591). Throws `invalid_params` about
 * `client_id`, which the caller then has to bring along, when it does not.
 */
export async function registerClient(
  reading: Reading,
  { server, redirectUri, scopes }: Registration,
): Promise<RegisteredClient> {
  const { registration_endpoint: url } = server;
  if (url === undefined) throw needsClient('the provider does not register clients by itself');
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const wish = {
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
  const body = Buffer.from(JSON.stringify(wish));
  const answer = await ask(reading, { method: 'POST', url, headers, body }).catch(
    (thrown: unknown) => {
      throw needsClient(`it could not be registered. ${AppError.from(thrown).message}`);
    },
  );
  const said = parseBoundedJson(Buffer.from(answer.body).toString('utf8'));
  const client = registered.safeParse(answer.status < 300 ? said : undefined);
  if (!client.success) throw needsClient('the provider refused to register one');
  const { client_id, client_secret, token_endpoint_auth_method: method } = client.data;
  return { clientId: client_id, clientSecret: client_secret, authentication: method };
}

function needsClient(why: string): AppError {
  const message = `is required: ${why}`;
  return new AppError('invalid_params', `client_id ${message}.`, {
    details: { issues: [{ path: 'client_id', message }] },
  });
}
