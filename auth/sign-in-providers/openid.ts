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

/** The data that the gateway needs as a client of a provider. */
export interface ProviderClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly clientSecret: string | null;
}

export interface OpenidProviders {
  /**
   * The provider's metadata, at most ten minutes old. Throws an `AppError` when the metadata cannot
   * be read.
   */
  discover(client: ProviderClient): Promise<Configuration>;
}

const configurationCacheMs = 600_000;
const answerBytesMax = 262_144;
const requestTimeoutSeconds = 6;

export function createOpenidProviders(egress: Egress): OpenidProviders {
  const fetchFromProvider = createEgressFetch(egress);

  const discoverProvider = async (client: ProviderClient): Promise<Configuration> => {
    const server = new URL(client.issuer);
    const isPlain = server.protocol === 'http:';
    const configuration = await discovery(
      server,
      client.clientId,
      {},
      clientAuthenticationOf(client),
      {
        [customFetch]: fetchFromProvider,
        timeout: requestTimeoutSeconds,
        // The egress guard decides whether plain http is allowed. The signatures of ID tokens are
        // checked although they come directly from the provider, because a proxy may terminate TLS.
        execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
      },
    );
    checkEndpoints(configuration, { isPlain });
    return configuration;
  };
  const configurations = createLookupCache<ProviderClient, Configuration>({
    max: 200,
    ttlMs: configurationCacheMs,
    lookUp: async (client) => {
      try {
        return await discoverProvider(client);
      } catch (error) {
        throw (
          findAppErrorIn(error) ?? otherIssuerError(error, client) ?? providerUnusableError(error)
        );
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

/**
 * Chooses how the gateway authenticates to the provider, from the provider's metadata; the default
 * is HTTP basic authentication (OpenID Connect Discovery §3).
 */
function clientAuthenticationOf({ clientSecret }: ProviderClient): ClientAuth {
  if (clientSecret === null) return None();
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authenticate = methods.includes('client_secret_basic')
      ? ClientSecretBasic(clientSecret)
      : ClientSecretPost(clientSecret);
    authenticate(server, client, body, headers);
  };
}

/**
 * Accepts only https endpoints. The browser is redirected to them, so URLs such as `javascript:`
 * must be impossible.
 */
function checkEndpoints(configuration: Configuration, { isPlain }: { isPlain: boolean }): void {
  const metadata = configuration.serverMetadata();
  for (const endpoint of [metadata.authorization_endpoint, metadata.token_endpoint]) {
    const protocol = URL.parse(endpoint ?? '')?.protocol;
    if (protocol === 'https:' || (isPlain && protocol === 'http:')) continue;
    throw providerUnusableError(new Error(`an endpoint of ${metadata.issuer} is not https`));
  }
}

function createEgressFetch(egress: Egress): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const { status, ...answer } = await egress.request({
      method,
      url,
      headers: Object.entries(headers),
      body: await toBodyBytes(body),
      signal,
      totalTimeoutMs: requestTimeoutSeconds * 1_000,
      maxBytes: answerBytesMax,
    });
    const hasBody = status !== 204 && status !== 205 && status !== 304;
    return new Response(hasBody ? Buffer.from(answer.body) : null, {
      status,
      headers: answer.headers.map(([name, value]): [string, string] => [name, value]),
    });
  };
}

async function toBodyBytes(
  body: Parameters<CustomFetch>[1]['body'],
): Promise<Uint8Array | undefined> {
  if (body === undefined || body === null) return undefined;
  return new Uint8Array(await new Response(body as NonNullable<RequestInit['body']>).arrayBuffer());
}

/** Finds the `AppError` of the egress guard, which the library wraps in its own errors. */
export function findAppErrorIn(error: unknown): AppError | undefined {
  for (let each = error; each instanceof Error; each = each.cause as Error) {
    if (each instanceof AppError) return each;
  }
  return undefined;
}

/**
 * The error when the metadata names an issuer that differs from the configured issuer only in its
 * path.
 */
function otherIssuerError(
  thrown: unknown,
  { issuer: wanted }: ProviderClient,
): AppError | undefined {
  let error = thrown;
  for (let depth = 0; depth < 5 && error instanceof Error; depth += 1) {
    const { code, cause } = error as { code?: unknown; cause?: { body?: { issuer?: unknown } } };
    const named = cause?.body?.issuer;
    const isNamed = code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' && typeof named === 'string';
    if (
      isNamed &&
      URL.parse(named)?.origin === new URL(wanted).origin &&
      /^\S{1,500}$/.test(named)
    ) {
      return new AppError(
        'upstream_incomplete',
        `The provider calls itself ${named}; give that as its issuer.`,
        { cause: thrown },
      );
    }
    error = cause;
  }
  return undefined;
}

function providerUnusableError(cause: unknown): AppError {
  return new AppError(
    'upstream_incomplete',
    'The provider does not describe itself as OpenID Connect asks for, or not as this issuer.',
    { cause },
  );
}
