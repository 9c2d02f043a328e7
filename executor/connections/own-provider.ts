import {
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from 'oauth4webapi';
import type { AuthorizationServer } from 'oauth4webapi';

import type { OwnProvider } from '#contracts/http/oauth-apps';
import { oauthProvider } from '#contracts/oauth-provider';
import type { OauthProvider } from '#contracts/oauth-provider';
import type { Egress } from '#egress';
import { AppError } from '#errors';
import { parseHosts } from '../domain/credential-rules.ts';

interface Tools {
  readonly egress: Egress;
  readonly isPlainHttpAllowed: (host: string) => boolean;
}

const bytesMax = 262_144;
const timeoutMs = 6_000;

/**
 * A provider of an org's own, as a row like the built-in ones. With an issuer, its metadata is read
 * now and once: what is stored cannot be changed later by whoever comes to hold that address.
 */
export async function defineOwnProvider(
  tools: Tools,
  { key, definition, hasSecret }: { key: string; definition: OwnProvider; hasSecret: boolean },
): Promise<OauthProvider> {
  const { issuer } = definition;
  const metadata = issuer === undefined ? undefined : await discover(tools, issuer);
  const methods = metadata?.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const post = methods.includes('client_secret_basic')
    ? 'client_secret_basic'
    : 'client_secret_post';
  const revocation = definition.revocation_url ?? metadata?.revocation_endpoint;
  const userinfo = definition.userinfo_url ?? metadata?.userinfo_endpoint;
  const parsed = oauthProvider.safeParse({
    key,
    title: definition.title,
    authorization_url: definition.authorization_url ?? metadata?.authorization_endpoint,
    token_url: definition.token_url ?? metadata?.token_endpoint,
    ...(revocation === undefined ? {} : { revocation: { url: revocation } }),
    ...(metadata === undefined ? {} : { issuer: metadata.issuer }),
    issuer_required: metadata?.authorization_response_iss_parameter_supported === true,
    // A server that does not know it ignores it (RFC 7636 §5).
    pkce: definition.pkce ?? true,
    client_authentication: definition.client_authentication ?? (hasSecret ? post : 'none'),
    scopes_always: definition.scopes_always ?? [],
    scopes_default: definition.scopes_default ?? [],
    ...(userinfo === undefined
      ? {}
      : {
          account: {
            url: userinfo,
            id: 'sub',
            label: ['preferred_username', 'email', 'name', 'sub'],
          },
        }),
    hosts: parseHosts(definition.hosts),
  });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw unusable(String(issue?.path[0] ?? 'issuer'), issue?.message ?? 'is not usable');
  }
  const provider = parsed.data;
  checkAddresses(tools, provider);
  return provider;
}

/** Browsers and secrets go to these: https, or what the operator has opened (reliability: C4). */
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
async function discover({ egress }: Tools, issuer: string): Promise<AuthorizationServer> {
  const server = URL.parse(issuer);
  if (server === null) throw unusable('issuer', 'must be an https URL');
  const failures: unknown[] = [];
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    try {
      const response = await discoveryRequest(server, {
        algorithm,
        // Whether plain http may be reached at all is the egress guard's to say.
        [allowInsecureRequests]: server.protocol === 'http:',
        [customFetch]: async (url, { headers }) => {
          const answer = await egress.request({
            method: 'GET',
            url,
            headers: Object.entries(headers),
            totalTimeoutMs: timeoutMs,
            maxBytes: bytesMax,
          });
          return new Response(Buffer.from(answer.body), {
            status: answer.status,
            headers: answer.headers.map(([name, value]): [string, string] => [name, value]),
          });
        },
      });
      return await processDiscoveryResponse(server, response);
    } catch (thrown) {
      failures.push(thrown);
    }
  }
  const reason = failures.find((each) => each instanceof AppError);
  throw unusable(
    'issuer',
    reason === undefined
      ? 'does not describe itself as RFC 8414 or OpenID Connect Discovery asks for, or not as this issuer'
      : `could not be reached. ${reason.message}`,
  );
}

function unusable(path: string, message: string): AppError {
  return new AppError('invalid_params', `definition.${path} ${message}.`, {
    details: { issues: [{ path: `definition.${path}`, message }] },
  });
}
