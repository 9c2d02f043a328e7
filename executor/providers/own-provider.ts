import { discoveryRequest, processDiscoveryResponse } from 'oauth4webapi';
import type { AuthorizationServer } from 'oauth4webapi';

import type { OwnProvider } from '#contracts/http/oauth-apps';
import { oauthProvider, providerUrl } from '#contracts/oauth-provider';
import type { OauthProvider } from '#contracts/oauth-provider';
import { AppError } from '#errors';
import { parseHosts } from '../credentials/domain/credential-rules.ts';
import { guardedFetchOptions } from './guarded-fetch.ts';
import type { ReadingDeps } from './guarded-fetch.ts';
import { findMcpAuthorization } from './mcp-authorization.ts';
import type { McpAuthorization } from './mcp-authorization.ts';
import { registerClient } from './register-client.ts';
import type { RegisteredClient } from './register-client.ts';

interface DefineDeps extends ReadingDeps {
  readonly isPlainHttpAllowed: (host: string) => boolean;
}

interface ProviderToDefine {
  readonly key: string;
  readonly definition: OwnProvider;
  /** Undefined when the gateway has to register itself as a client. */
  readonly client: RegisteredClient | undefined;
  readonly redirectUri: string;
}

/**
 * Defines a provider of an org, in the form of the built-in definitions, and its client. Reads the
 * metadata of an issuer or MCP server only now, so that a later owner of the address cannot change
 * the definition.
 */
export async function defineOwnProvider(
  tools: DefineDeps,
  { key, definition, client: givenClient, redirectUri }: ProviderToDefine,
): Promise<{ provider: OauthProvider; client: RegisteredClient }> {
  const authorization = await findAuthorization(tools, definition);
  const metadata = authorization && (await discoverServer(tools, authorization));
  const hasOfflineScope = metadata?.scopes_supported?.includes('offline_access') === true;
  const scopes = {
    // Some servers give a refresh token only when this scope is requested.
    scopes_always:
      definition.scopes_always ??
      (authorization?.resource !== undefined && hasOfflineScope ? offlineOnly : []),
    scopes_default: definition.scopes_default ?? [...(authorization?.scopes ?? [])],
  };
  const partialRow = rowOf({ key, definition, metadata, found: authorization });
  checkAddresses(tools, partialRow);
  const client =
    givenClient ??
    (await registerClient(tools, {
      server: metadata ?? {},
      redirectUri,
      scopes: [...scopes.scopes_default, ...scopes.scopes_always],
    }));
  const methods = metadata?.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const secretMethod = methods.includes('client_secret_basic')
    ? 'client_secret_basic'
    : 'client_secret_post';
  const authentication =
    client.clientSecret === undefined ? 'none' : (client.authentication ?? secretMethod);
  const provider = parseProvider({
    ...partialRow,
    ...scopes,
    client_authentication: definition.client_authentication ?? authentication,
  });
  return { provider, client };
}

const offlineOnly = ['offline_access'];

type FoundAuthorization = Pick<McpAuthorization, 'issuer'> & Partial<McpAuthorization>;

async function findAuthorization(
  tools: DefineDeps,
  { issuer, mcp_server: server }: OwnProvider,
): Promise<FoundAuthorization | undefined> {
  if (server === undefined) return issuer === undefined ? undefined : { issuer };
  let authorization: McpAuthorization | undefined;
  try {
    authorization = await findMcpAuthorization(tools, server);
  } catch (error) {
    const { message } = AppError.from(error);
    throw unusableError('mcp_server', `could not be reached. ${message}`);
  }
  if (authorization !== undefined) return authorization;
  throw unusableError('mcp_server', 'says that it is another server');
}

function rowOf({
  key,
  definition,
  metadata,
  found,
}: Pick<ProviderToDefine, 'key' | 'definition'> & {
  metadata: AuthorizationServer | undefined;
  found: FoundAuthorization | undefined;
}): OauthProvider {
  const { mcp_server: server, hosts } = definition;
  const revocation = definition.revocation_url ?? metadata?.revocation_endpoint;
  const userinfo = definition.userinfo_url ?? metadata?.userinfo_endpoint;
  const challenges = metadata?.code_challenge_methods_supported ?? [];
  if (server !== undefined && !challenges.includes('S256')) {
    // A provider without PKCE is refused (MCP, Authorization Code Protection).
    throw unusableError('mcp_server', 'is opened by a provider that does not know PKCE');
  }
  const resource = found?.resource === undefined ? {} : { resource: found.resource };
  return parseProvider({
    ...deviationsOf(definition),
    key,
    title: definition.title,
    authorization_url: definition.authorization_url ?? metadata?.authorization_endpoint,
    token_url: definition.token_url ?? metadata?.token_endpoint,
    revocation:
      definition.revocation ?? (revocation === undefined ? undefined : { url: revocation }),
    ...(metadata === undefined ? {} : { issuer: metadata.issuer }),
    issuer_required: metadata?.authorization_response_iss_parameter_supported === true,
    // PKCE is used by default. A server that does not support it ignores the parameter (RFC 7636
    // §5).
    pkce: definition.pkce ?? true,
    client_authentication: 'none',
    authorize_parameters: { ...definition.authorize_parameters, ...resource },
    token_parameters: { ...definition.token_parameters, ...resource },
    account:
      definition.account ??
      (userinfo === undefined
        ? undefined
        : {
            url: userinfo,
            id: 'sub',
            label: ['preferred_username', 'email', 'name', 'sub'],
          }),
    hosts: hostsOf(hosts ?? [new URL(server ?? '').host]),
  });
}

/**
 * The pattern for values of variables, which become part of a host name or one segment of a path.
 */
const variablePattern = '[A-Za-z0-9][A-Za-z0-9.-]{0,199}';

/**
 * The fields that are copied unchanged. Variables get a fixed pattern, because matching a pattern
 * that an org wrote could take very long.
 */
function deviationsOf({ variables = {}, ...definition }: OwnProvider) {
  const { refresh_url, token_request, token_headers, token_answer, dead_grant_errors } = definition;
  const { scope_separator, scope_parameter, scopes, host_of_answer, app_page, steps } = definition;
  return {
    refresh_url,
    token_request,
    token_headers,
    token_answer,
    dead_grant_errors,
    scope_separator,
    scope_parameter,
    scopes,
    host_of_answer,
    app_page,
    steps,
    variables: Object.fromEntries(
      Object.entries(variables).map(([name, variable]) => [
        name,
        { ...variable, pattern: variablePattern },
      ]),
    ),
  };
}

const placeholder = /\{[a-z_]+\}/g;

/**
 * Hosts in the form in which they are compared. A host with a variable is checked and stays as it
 * is.
 */
function hostsOf(hosts: readonly string[]): string[] {
  const fixedHosts = hosts.filter((each) => !each.includes('{'));
  const variableHosts = hosts.filter((each) => each.includes('{'));
  parseHosts(variableHosts.map((each) => each.replaceAll(placeholder, 'x.example')));
  return [...parseHosts(fixedHosts), ...variableHosts];
}

function parseProvider(row: unknown): OauthProvider {
  const parseResult = oauthProvider.safeParse(row);
  if (parseResult.success) return parseResult.data;
  const issue = parseResult.error.issues[0];
  throw unusableError(String(issue?.path[0] ?? 'issuer'), issue?.message ?? 'is not usable');
}

/**
 * Requires https for the provider's addresses, unless the operator allows plain http, because
 * browsers and secrets are sent to these addresses
 * (docs/reference/credentials.md#outbound-addresses).
 */
function checkAddresses({ isPlainHttpAllowed }: DefineDeps, provider: OauthProvider): void {
  const addresses = {
    authorization_url: provider.authorization_url,
    token_url: provider.token_url,
    refresh_url: provider.refresh_url,
    revocation_url: provider.revocation?.url,
    userinfo_url: provider.account?.url === 'answer' ? undefined : provider.account?.url,
  };
  for (const [path, address] of Object.entries(addresses)) {
    if (address === undefined) continue;
    const url = URL.parse(address.replaceAll(placeholder, 'x'));
    const isPlain = url?.protocol === 'http:' && isPlainHttpAllowed(url.host);
    const isFit = (url?.protocol === 'https:' || isPlain) && url?.username === '';
    if (!isFit) throw unusableError(path, 'must be an https URL');
  }
}

/**
 * Reads the server's RFC 8414 or OpenID Connect Discovery metadata. The metadata must contain the
 * requested issuer.
 */
async function discoverServer(
  tools: DefineDeps,
  { issuer, resource }: FoundAuthorization,
): Promise<AuthorizationServer> {
  const server = URL.parse(issuer);
  if (server === null) {
    throw resource === undefined
      ? unusableError('issuer', 'must be an https URL')
      : unusableError('mcp_server', 'names a provider that is no https URL');
  }
  const failures: unknown[] = [];
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    try {
      const options = { algorithm, ...guardedFetchOptions(tools, server) };
      const response = await discoveryRequest(server, options);
      return await processDiscoveryResponse(server, response);
    } catch (error) {
      failures.push(error);
    }
  }
  const named = failures
    .map((each) => issuerNamedIn(each, server))
    .find((each) => each !== undefined);
  if (named !== undefined && resource === undefined) {
    throw unusableError('issuer', `is called ${named} by its own metadata; give it so`);
  }
  const reason = failures.find((each) => each instanceof AppError);
  throw unusableError(
    resource === undefined ? 'issuer' : 'mcp_server',
    reason === undefined
      ? `${resource === undefined ? '' : `is opened by ${server.origin}, which `}does not describe itself as RFC 8414 or OpenID Connect Discovery asks for, or not as this issuer`
      : `could not be reached. ${reason.message}`,
  );
}

/** The issuer in the metadata, if only its path differs from the requested issuer. */
function issuerNamedIn(error: unknown, wanted: URL): string | undefined {
  const { code, cause } = error as { code?: unknown; cause?: { body?: { issuer?: unknown } } };
  if (code !== 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') return undefined;
  const issuer = providerUrl.safeParse(cause?.body?.issuer).data;
  return URL.parse(issuer ?? '')?.origin === wanted.origin ? issuer : undefined;
}

function unusableError(path: string, message: string): AppError {
  return new AppError('invalid_params', `definition.${path} ${message}.`, {
    details: { issues: [{ path: `definition.${path}`, message }] },
  });
}
