import { discoveryRequest, processDiscoveryResponse } from 'oauth4webapi';
import type { AuthorizationServer } from 'oauth4webapi';

import type { OwnProvider } from '#contracts/http/oauth-apps';
import { oauthProvider } from '#contracts/oauth-provider';
import type { OauthProvider } from '#contracts/oauth-provider';
import { AppError } from '#errors';
import { parseHosts } from '../domain/credential-rules.ts';
import { throughGuard } from './guarded-fetch.ts';
import type { Reading } from './guarded-fetch.ts';
import { findMcpAuthorization } from './mcp-authorization.ts';
import type { McpAuthorization } from './mcp-authorization.ts';
import { registerClient } from './register-client.ts';
import type { RegisteredClient } from './register-client.ts';

interface Tools extends Reading {
  readonly isPlainHttpAllowed: (host: string) => boolean;
}

interface Defining {
  readonly key: string;
  readonly definition: OwnProvider;
  /** Undefined: the gateway registers itself. */
  readonly client: RegisteredClient | undefined;
  readonly redirectUri: string;
}

/**
 * A provider of an org's own, as a row like the built-in ones, and what the org is known as there.
 * With an issuer or an MCP server its metadata is read now and once: what is stored cannot be
 * changed later by whoever comes to hold that address.
 */
export async function defineOwnProvider(
  tools: Tools,
  { key, definition, client: given, redirectUri }: Defining,
): Promise<{ provider: OauthProvider; client: RegisteredClient }> {
  const found = await findAuthorization(tools, definition);
  const metadata = found && (await discover(tools, found));
  const offline = metadata?.scopes_supported?.includes('offline_access') === true;
  const scopes = {
    // What makes a refresh token come along, where the server has a word for it.
    scopes_always:
      definition.scopes_always ?? (found?.resource !== undefined && offline ? offlineOnly : []),
    scopes_default: definition.scopes_default ?? [...(found?.scopes ?? [])],
  };
  const partial = rowOf({ key, definition, metadata, found });
  checkAddresses(tools, partial);
  const client =
    given ??
    (await registerClient(tools, {
      server: metadata ?? {},
      redirectUri,
      scopes: [...scopes.scopes_default, ...scopes.scopes_always],
    }));
  const methods = metadata?.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const withSecret = methods.includes('client_secret_basic')
    ? 'client_secret_basic'
    : 'client_secret_post';
  const authentication =
    client.clientSecret === undefined ? 'none' : (client.authentication ?? withSecret);
  const provider = parse({
    ...partial,
    ...scopes,
    client_authentication: definition.client_authentication ?? authentication,
  });
  return { provider, client };
}

const offlineOnly = ['offline_access'];

type Found = Pick<McpAuthorization, 'issuer'> & Partial<McpAuthorization>;

async function findAuthorization(
  tools: Tools,
  { issuer, mcp_server: server }: OwnProvider,
): Promise<Found | undefined> {
  if (server === undefined) return issuer === undefined ? undefined : { issuer };
  let found: McpAuthorization | undefined;
  try {
    found = await findMcpAuthorization(tools, server);
  } catch (thrown) {
    const { message } = AppError.from(thrown);
    throw unusable('mcp_server', `could not be reached. ${message}`);
  }
  if (found !== undefined) return found;
  throw unusable('mcp_server', 'says that it is another server');
}

function rowOf({
  key,
  definition,
  metadata,
  found,
}: Pick<Defining, 'key' | 'definition'> & {
  metadata: AuthorizationServer | undefined;
  found: Found | undefined;
}): OauthProvider {
  const { mcp_server: server, hosts } = definition;
  const revocation = definition.revocation_url ?? metadata?.revocation_endpoint;
  const userinfo = definition.userinfo_url ?? metadata?.userinfo_endpoint;
  const challenges = metadata?.code_challenge_methods_supported ?? [];
  if (server !== undefined && !challenges.includes('S256')) {
    // MCP, Authorization Code Protection: refuse to proceed.
    throw unusable('mcp_server', 'is opened by a provider that does not know PKCE');
  }
  const resource = found?.resource === undefined ? {} : { resource: found.resource };
  return parse({
    key,
    title: definition.title,
    authorization_url: definition.authorization_url ?? metadata?.authorization_endpoint,
    token_url: definition.token_url ?? metadata?.token_endpoint,
    ...(revocation === undefined ? {} : { revocation: { url: revocation } }),
    ...(metadata === undefined ? {} : { issuer: metadata.issuer }),
    issuer_required: metadata?.authorization_response_iss_parameter_supported === true,
    // A server that does not know it ignores it (RFC 7636 §5).
    pkce: definition.pkce ?? true,
    client_authentication: 'none',
    authorize_parameters: resource,
    token_parameters: resource,
    ...(userinfo === undefined
      ? {}
      : {
          account: {
            url: userinfo,
            id: 'sub',
            label: ['preferred_username', 'email', 'name', 'sub'],
          },
        }),
    hosts: parseHosts(hosts ?? [new URL(server ?? '').host]),
  });
}

function parse(row: unknown): OauthProvider {
  const parsed = oauthProvider.safeParse(row);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unusable(String(issue?.path[0] ?? 'issuer'), issue?.message ?? 'is not usable');
}

/**
 * Browsers and secrets go to these addresses, so they are https or opened by the operator
 * (docs/reference/credentials.md#outbound-addresses).
 */
function checkAddresses({ isPlainHttpAllowed }: Tools, provider: OauthProvider): void {
  const addresses = {
    authorization_url: provider.authorization_url,
    token_url: provider.token_url,
    revocation_url: provider.revocation?.url,
    userinfo_url: provider.account?.url,
  };
  for (const [path, address] of Object.entries(addresses)) {
    if (address === undefined) continue;
    const url = URL.parse(address);
    const isPlain = url?.protocol === 'http:' && isPlainHttpAllowed(url.host);
    const isFit = (url?.protocol === 'https:' || isPlain) && url?.username === '';
    if (!isFit) throw unusable(path, 'must be an https URL');
  }
}

/** RFC 8414 or OpenID Connect Discovery, whichever the server has; the issuer must be the one asked for. */
async function discover(tools: Tools, { issuer, resource }: Found): Promise<AuthorizationServer> {
  const server = URL.parse(issuer);
  if (server === null) {
    throw resource === undefined
      ? unusable('issuer', 'must be an https URL')
      : unusable('mcp_server', 'names a provider that is no https URL');
  }
  const failures: unknown[] = [];
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    try {
      const options = { algorithm, ...throughGuard(tools, server) };
      const response = await discoveryRequest(server, options);
      return await processDiscoveryResponse(server, response);
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  const reason = failures.find((each) => each instanceof AppError);
  throw unusable(
    resource === undefined ? 'issuer' : 'mcp_server',
    reason === undefined
      ? `${resource === undefined ? '' : `is opened by ${server.origin}, which `}does not describe itself as RFC 8414 or OpenID Connect Discovery asks for, or not as this issuer`
      : `could not be reached. ${reason.message}`,
  );
}

function unusable(path: string, message: string): AppError {
  return new AppError('invalid_params', `definition.${path} ${message}.`, {
    details: { issues: [{ path: `definition.${path}`, message }] },
  });
}
