import { createHash } from 'node:crypto';

import {
  ClientSecretBasic,
  ClientSecretPost,
  None,
  allowInsecureRequests,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
} from 'openid-client';
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client';

import type { Egress } from '#egress';
import { AppError } from '#errors';
import { createLookupCache } from '#cache';

/** What is needed to talk to a provider as one of its clients. */
export interface ProviderClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
}

export interface OpenidProviders {
  /** The provider's metadata, ten minutes old at most; an `AppError` tells why it cannot be had. */
  discover(client: ProviderClient): Promise<Configuration>;
}

const cachedMs = 600_000;
const bytesMax = 262_144;
const timeoutSeconds = 6;

export function createOpenidProviders(egress: Egress): OpenidProviders {
  const fetchFromProvider = egressFetch(egress);

  const look = async (client: ProviderClient): Promise<Configuration> => {
    const server = new URL(client.issuer);
    const isPlain = server.protocol === 'http:';
    const configuration = await discovery(server, client.clientId, {}, authenticationOf(client), {
      [customFetch]: fetchFromProvider,
      timeout: timeoutSeconds,
      // Whether plain http may be reached at all is the egress guard's to say. Signatures of ID
      // tokens are checked although they come from the provider itself: TLS may end before it.
      execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
    });
    checkEndpoints(configuration, { isPlain });
    return configuration;
  };
  const configurations = createLookupCache<ProviderClient, Configuration>({
    max: 200,
    ttlMs: cachedMs,
    lookUp: async (client) => {
      try {
        return await look(client);
      } catch (error) {
        throw reasonOf(error) ?? providerUnusable(error);
      }
    },
  });

  return {
    discover(client) {
      const { issuer, clientId, clientSecret } = client;
      const key = createHash('sha256')
        .update(JSON.stringify([issuer, clientId, clientSecret]))
        .digest('base64');
      return configurations.get(key, client);
    },
  };
}

/** As the provider's metadata says (OpenID Connect Discovery §3: basic, when it says nothing). */
function authenticationOf({ clientSecret }: ProviderClient): ClientAuth {
  if (clientSecret === null) return None();
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic')
      ? ClientSecretBasic(clientSecret)
      : ClientSecretPost(clientSecret);
    authenticate(server, client, body, headers);
  };
}

/** A browser is sent to what the metadata names: `javascript:` and the like must not be in it. */
function checkEndpoints(configuration: Configuration, { isPlain }: { isPlain: boolean }): void {
  const metadata = configuration.serverMetadata();
  for (const endpoint of [metadata.authorization_endpoint, metadata.token_endpoint]) {
    const protocol = URL.parse(endpoint ?? '')?.protocol;
    if (protocol === 'https:' || (isPlain && protocol === 'http:')) continue;
    throw providerUnusable(new Error(`an endpoint of ${metadata.issuer} is not https`));
  }
}

function egressFetch(egress: Egress): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const { status, ...answer } = await egress.request({
      method,
      url,
      headers: Object.entries(headers),
      body: await bytesOf(body),
      signal,
      totalTimeoutMs: timeoutSeconds * 1_000,
      maxBytes: bytesMax,
    });
    const hasBody = status !== 204 && status !== 205 && status !== 304;
    return new Response(hasBody ? Buffer.from(answer.body) : null, {
      status,
      headers: answer.headers.map(([name, value]): [string, string] => [name, value]),
    });
  };
}

async function bytesOf(body: Parameters<CustomFetch>[1]['body']): Promise<Uint8Array | undefined> {
  if (body === undefined || body === null) return undefined;
  return new Uint8Array(await new Response(body as NonNullable<RequestInit['body']>).arrayBuffer());
}

/** Failures of our own on the way out; the library wraps what `fetch` throws. */
export function reasonOf(thrown: unknown): AppError | undefined {
  for (let each = thrown; each instanceof Error; each = each.cause as Error) {
    if (each instanceof AppError) return each;
  }
  return undefined;
}

function providerUnusable(cause: unknown): AppError {
  return new AppError(
    'upstream_incomplete',
    'The provider does not describe itself as OpenID Connect asks for, or not as this issuer.',
    { cause },
  );
}
