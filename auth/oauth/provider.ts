import { generateKeyPairSync } from 'node:crypto';

import { Provider, errors, interactionPolicy } from 'oidc-provider';
import type { Configuration, ErrorOut, JWK, KoaContextWithOIDC } from 'oidc-provider';

import { messagePage, pageHeaders } from '#pages';
import { cliClientId } from '#contracts/oauth';
import { requestedScopes } from '../domain/oauth-scopes.ts';
import { formatScopedId, parseScopedId } from '../domain/scoped-id.ts';
import { isClientLetIn, wasClientEverLetIn } from '../repository/oauth-clients.ts';
import { renewOauthGrant } from '../usecases/issue-oauth-grant.ts';
import type { AuthorizationRequest } from '../usecases/issue-oauth-grant.ts';
import { createAdapter } from './adapter.ts';
import type { OauthDeps } from './deps.ts';
import { paths, signInPath } from './paths.ts';
import { requestScope } from './request-scope.ts';

/** In seconds (docs/reference/identities.md#lifetimes). */
const lifetimes = {
  accessToken: 15 * 60,
  refreshToken: 30 * 86_400,
  chain: 180 * 86_400,
  code: 60,
  interaction: 10 * 60,
};

/**
 * The library, with everything off that we do not use. It decides the protocol of authorization,
 * token and revocation requests; registration, metadata and the pages are ours. Nothing reaches it
 * but by the fence, and it holds nothing: no keys, no cookies, no clients.
 */
export function createProvider(deps: OauthDeps): Provider {
  const provider = new Provider(deps.baseUrl, {
    adapter: createAdapter(deps),
    routes: {
      authorization: paths.authorize,
      token: paths.token,
      revocation: paths.revoke,
      // Always there in the library; the fence has no way to them.
      jwks: '/oauth/unused/jwks',
      end_session: '/oauth/unused/end-session',
    },
    features: {
      ...switchedOff,
      resourceIndicators: resourceIndicators(deps),
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
    },
    ...tokens,
    jwks: { keys: [keyThatSignsNothing()] },
    interactions: {
      policy: createPolicy(),
      url: (ctx, interaction) =>
        interaction.prompt.name === 'login'
          ? signInPath(ctx.originalUrl)
          : `${paths.consent}?id=${encodeURIComponent(interaction.uid)}`,
    },
    loadExistingGrant: (ctx) => loadGrant(deps, ctx),
    // Whether the user may still act is in the statement that finds the grant.
    findAccount: (_ctx, accountId) =>
      parseScopedId(accountId) && { accountId, claims: async () => ({ sub: accountId }) },
    renderError,
  });
  // Its cookies are read where the fence wrote them, and set nowhere.
  provider.use(async (ctx, next) => {
    await next();
    ctx.remove('set-cookie');
    await keepErrorsOfStrangers(deps, ctx as KoaContextWithOIDC);
  });
  provider.on('server_error', (_ctx, error) => {
    deps.logger.error({ err: error }, 'the authorization server failed');
  });
  return provider;
}

const switchedOff: Configuration['features'] = {
  devInteractions: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  userinfo: { enabled: false },
};

/** The library insists on a key for ID tokens, of which there are none: nobody ever needs the same one. */
function keyThatSignsNothing(): JWK {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
}

const tokens: Partial<Configuration> = {
  responseTypes: ['code'],
  scopes: [],
  claims: {},
  clientAuthMethods: ['none'],
  clientDefaults: { id_token_signed_response_alg: 'Ed25519' },
  pkce: { required: () => true },
  allowOmittingSingleRegisteredRedirectUri: false,
  // Clients do not ask for it, and could not work without it.
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  expiresWithSession: async () => false,
  ttl: {
    AccessToken: lifetimes.accessToken,
    AuthorizationCode: lifetimes.code,
    Grant: lifetimes.chain,
    Interaction: lifetimes.interaction,
    RefreshToken: (_ctx, token) =>
      Math.max(1, Math.min(lifetimes.refreshToken, lifetimes.chain - token.totalLifetime())),
    Session: lifetimes.interaction,
  },
};

/** One audience, whatever of its names a client uses: the fence has already made them one. */
function resourceIndicators({ baseUrl }: OauthDeps) {
  return {
    enabled: true,
    defaultResource: (_ctx: unknown, _client: unknown, oneOf?: readonly string[]) =>
      oneOf?.[0] ?? baseUrl,
    async getResourceServerInfo(ctx: KoaContextWithOIDC, resource: string) {
      if (resource !== baseUrl) throw new errors.InvalidTarget();
      const { client, params, route } = ctx.oidc;
      const scope = optional(params?.['scope']);
      if (
        route === 'authorization' &&
        requestedScopes(scope, client?.clientId ?? '') === undefined
      ) {
        throw new errors.InvalidScope('The client may not ask for these scopes.', scope ?? '');
      }
      return {
        audience: baseUrl,
        scope: 'mcp actions:read actions:call approvals agents user',
        accessTokenFormat: 'opaque' as const,
        accessTokenTTL: lifetimes.accessToken,
      };
    },
  };
}

/** Sign in first; then ask, unless what was agreed to before (or just now) gave a grant. */
function createPolicy() {
  const { Check, Prompt, base } = interactionPolicy;
  const policy = base();
  policy.clear();
  policy.add(
    new Prompt(
      { name: 'login' },
      new Check('no_session', 'Nobody is signed in.', (ctx) => !ctx.oidc.session?.accountId),
    ),
  );
  policy.add(
    new Prompt(
      { name: 'consent', requestable: true },
      new Check('not_agreed', 'The user must be asked.', (ctx) => !ctx.oidc.grant?.jti),
    ),
  );
  return policy;
}

async function loadGrant(deps: OauthDeps, ctx: KoaContextWithOIDC) {
  const { provider, result, prompts, client } = ctx.oidc;
  const { caller, context } = requestScope();
  if (caller === null || client === undefined) return undefined;
  const clientId = client.clientId;
  if (!(await isClientLetIn(deps.db, { orgId: caller.orgId, clientId }))) {
    throw new errors.AccessDenied('The admins of the org do not let this client in.');
  }
  const agreed = result?.consent?.grantId;
  if (agreed !== undefined) return provider.Grant.find(agreed);
  // The seeded client acts as the user, who says so each time.
  if (prompts.has('consent') || clientId === cliClientId) return undefined;

  const request = describeRequest(deps, {
    clientId,
    clientName: client.clientName ?? clientId,
    scope: optional(ctx.oidc.params?.['scope']),
  });
  const grant = await renewOauthGrant(deps, { caller, context, request });
  return grant && provider.Grant.find(formatScopedId(grant));
}

/** What the person is asked, from the parameters as the fence and the library left them. */
export function describeRequest(
  { baseUrl }: Pick<OauthDeps, 'baseUrl'>,
  {
    clientId,
    clientName,
    scope,
  }: { clientId: string; clientName: string; scope?: string | undefined },
): AuthorizationRequest {
  const scopes = requestedScopes(scope, clientId) ?? [];
  return { clientId, clientName, scopes, resource: baseUrl };
}

/**
 * Registration is open, so a redirect URI may be anybody's. An error is sent to one only for a
 * client that a person of this deployment has let in before; for any other the browser stays here
 * (RFC 9700 §4.11.2: no automatic redirect to a URI that is not trusted).
 */
async function keepErrorsOfStrangers(
  { db }: Pick<OauthDeps, 'db'>,
  ctx: KoaContextWithOIDC,
): Promise<void> {
  const { oidc, response } = ctx;
  const error = errorSentTo(response.get('location'));
  if (error === null || oidc?.client === undefined) return;
  if (await wasClientEverLetIn(db, { id: oidc.client.clientId })) return;

  ctx.remove('location');
  ctx.status = 400;
  ctx.set(pageHeaders());
  ctx.body =
    error.code === 'access_denied'
      ? messagePage(
          'Nothing was allowed',
          'The application was not let in. You can close this page.',
        )
      : messagePage('This link does not work', `${sentence(error.description)} ${goBack}`);
}

/** The error that a redirect carries to a client (RFC 6749 §4.1.2.1); null for any other redirect. */
function errorSentTo(location: string): { code: string; description: string } | null {
  if (!URL.canParse(location)) return null;
  const { search, hash } = new URL(location);
  // Clients that ask for a flow that does not exist here are answered where that flow answers.
  for (const text of [search, hash]) {
    const parameters = new URLSearchParams(text.slice(1));
    const code = parameters.get('error');
    if (code !== null) return { code, description: parameters.get('error_description') ?? code };
  }
  return null;
}

/** Errors that only the person can be told: there is no client, or no redirect URI of its. */
function renderError(ctx: KoaContextWithOIDC, out: ErrorOut, thrown: Error): void {
  ctx.set(pageHeaders());
  ctx.body = messagePage('This link does not work', `${explain(out, thrown)} ${goBack}`);
}

const goBack = 'Go back to the application that sent you here and connect again.';

function explain({ error, error_description: description }: ErrorOut, thrown: Error): string {
  if (thrown instanceof errors.SessionNotFound) {
    return 'This request was answered before, waited too long, or began in another sign-in.';
  }
  if (error === 'invalid_redirect_uri') {
    return 'The application wants its answer at an address that it has not registered.';
  }
  if (description === undefined || description === 'client is invalid') {
    return 'The gateway does not know this application, or no longer.';
  }
  return sentence(description);
}

function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return begun.endsWith('.') ? begun : `${begun}.`;
}

const optional = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
