import { generateKeyPairSync } from 'node:crypto';

import { Provider, errors, interactionPolicy } from 'oidc-provider';
import type { Configuration, ErrorOut, JWK, KoaContextWithOIDC } from 'oidc-provider';

import { answerWithPage, createMessagePage } from '#pages';
import type { Page } from '#pages';
import { cliClientId } from '#contracts/oauth';
import { requestedScopes } from './domain/oauth-scopes.ts';
import { formatScopedId, parseScopedId } from './domain/scoped-id.ts';
import { isClientAllowed, wasClientEverAuthorized } from '../oauth-clients/oauth-clients.sql.ts';
import { renewOauthGrant } from './issue-oauth-grant.ts';
import type { AuthorizationRequest } from './issue-oauth-grant.ts';
import { createAdapter } from './adapter.ts';
import type { OauthDeps } from './deps.ts';
import { oauthPaths, signInPathTo } from './paths.ts';
import { getRequestScope } from './request-scope.ts';

/** Lifetimes in seconds (docs/reference/identities.md#lifetimes). */
const lifetimesSeconds = {
  accessToken: 15 * 60,
  refreshToken: 30 * 86_400,
  grant: 180 * 86_400,
  code: 60,
  interaction: 10 * 60,
};

/**
 * Configures the library `oidc-provider`, with all unused features switched off. It handles
 * authorization, token and revocation requests. The other files of this folder implement
 * registration, metadata and the pages. All requests reach the library through the fence. The
 * library stores no keys, cookies or clients.
 */
export function createProvider(deps: OauthDeps): Provider {
  const provider = new Provider(deps.baseUrl, {
    adapter: createAdapter(deps),
    routes: {
      authorization: oauthPaths.authorize,
      token: oauthPaths.token,
      revocation: oauthPaths.revoke,
      // The library always serves these routes, but the fence forwards no request to them.
      jwks: '/oauth/unused/jwks',
      end_session: '/oauth/unused/end-session',
    },
    features: {
      ...disabledFeatures,
      resourceIndicators: createResourceIndicators(deps),
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
    },
    ...tokenConfiguration,
    jwks: { keys: [createUnusedKey()] },
    interactions: {
      policy: createPolicy(),
      url: (ctx, interaction) =>
        interaction.prompt.name === 'login'
          ? signInPathTo(ctx.originalUrl)
          : `${oauthPaths.consent}?id=${encodeURIComponent(interaction.uid)}`,
    },
    loadExistingGrant: (ctx) => loadGrant(deps, ctx),
    // `findLiveOauthGrant` checks whether the user may still act, so this function checks nothing.
    findAccount: (_ctx, accountId) =>
      parseScopedId(accountId) && { accountId, claims: async () => ({ sub: accountId }) },
    renderError,
  });
  // The library must set no cookie in a browser.
  provider.use(async (ctx, next) => {
    await next();
    ctx.remove('set-cookie');
    await showErrorsOfUnknownClients(deps, ctx as KoaContextWithOIDC);
  });
  provider.on('server_error', (_ctx, error) => {
    deps.logger.error({ err: error }, 'the authorization server failed');
  });
  return provider;
}

const disabledFeatures: Configuration['features'] = {
  devInteractions: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  userinfo: { enabled: false },
};

/**
 * The library requires a key for signing ID tokens. It issues no ID tokens, so the key may differ
 * at every start.
 */
function createUnusedKey(): JWK {
  return generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
}

const tokenConfiguration: Partial<Configuration> = {
  responseTypes: ['code'],
  scopes: [],
  claims: {},
  clientAuthMethods: ['none'],
  clientDefaults: { id_token_signed_response_alg: 'Ed25519' },
  pkce: { required: () => true },
  allowOmittingSingleRegisteredRedirectUri: false,
  // Clients need a refresh token even if they do not request one.
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  expiresWithSession: async () => false,
  ttl: {
    AccessToken: lifetimesSeconds.accessToken,
    AuthorizationCode: lifetimesSeconds.code,
    Grant: lifetimesSeconds.grant,
    Interaction: lifetimesSeconds.interaction,
    RefreshToken: (_ctx, token) =>
      Math.max(
        1,
        Math.min(lifetimesSeconds.refreshToken, lifetimesSeconds.grant - token.totalLifetime()),
      ),
    Session: lifetimesSeconds.interaction,
  },
};

/**
 * Accepts only the base URL as audience. The fence has already replaced the other name of this
 * audience, the URL of the MCP endpoint.
 */
function createResourceIndicators({ baseUrl }: OauthDeps) {
  return {
    enabled: true,
    defaultResource: (_ctx: unknown, _client: unknown, oneOf?: readonly string[]) =>
      oneOf?.[0] ?? baseUrl,
    async getResourceServerInfo(ctx: KoaContextWithOIDC, resource: string) {
      if (resource !== baseUrl) throw new errors.InvalidTarget();
      const { client, params, route } = ctx.oidc;
      const scope = toOptionalText(params?.['scope']);
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
        accessTokenTTL: lifetimesSeconds.accessToken,
      };
    },
  };
}

/**
 * Requires that the user signs in first. Then the user must consent, unless the user has consented
 * before.
 */
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
  const { caller, context } = getRequestScope();
  if (caller === null || client === undefined) return undefined;
  const clientId = client.clientId;
  if (!(await isClientAllowed(deps.db, { orgId: caller.orgId, clientId }))) {
    throw new errors.AccessDenied('The admins of the org do not let this client in.');
  }
  const consentedGrantId = result?.consent?.grantId;
  if (consentedGrantId !== undefined) return provider.Grant.find(consentedGrantId);
  // The seeded client acts as the user itself, so the user must consent each time.
  if (prompts.has('consent') || clientId === cliClientId) return undefined;

  const request = describeRequest(deps, {
    clientId,
    clientName: client.clientName ?? clientId,
    scope: toOptionalText(ctx.oidc.params?.['scope']),
  });
  const grant = await renewOauthGrant(deps, { caller, context, request });
  return grant && provider.Grant.find(formatScopedId(grant));
}

/**
 * Describes what the user is asked to allow. The parameters were checked by the fence and the
 * library.
 */
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
 * Shows an error on a page of the gateway instead of redirecting the browser to the client, unless
 * a user of this deployment has authorized the client before. Registration is open, so anybody may
 * register a redirect URI, and RFC 9700 §4.11.2 forbids automatic redirects to untrusted URIs.
 */
async function showErrorsOfUnknownClients(
  { db }: Pick<OauthDeps, 'db'>,
  ctx: KoaContextWithOIDC,
): Promise<void> {
  const { oidc, response } = ctx;
  const error = errorInRedirect(response.get('location'));
  if (error === null || oidc?.client === undefined) return;
  if (await wasClientEverAuthorized(db, { id: oidc.client.clientId })) return;

  ctx.remove('location');
  ctx.status = 400;
  const page =
    error.code === 'access_denied'
      ? createMessagePage(
          'Nothing was allowed',
          'The application was not let in. You can close this page.',
        )
      : createMessagePage(
          'This link does not work',
          `${sentenceOf(error.description)} ${goBackSentence}`,
        );
  showPage(ctx, page);
}

/** The error in a redirect to a client (RFC 6749 §4.1.2.1). Null for any other redirect. */
function errorInRedirect(location: string): { code: string; description: string } | null {
  if (!URL.canParse(location)) return null;
  const { search, hash } = new URL(location);
  // An unsupported response type may put the error into the fragment instead of the query.
  for (const text of [search, hash]) {
    const parameters = new URLSearchParams(text.slice(1));
    const code = parameters.get('error');
    if (code !== null) return { code, description: parameters.get('error_description') ?? code };
  }
  return null;
}

/** Shows an error to the person, because no valid client or redirect URI is known. */
function renderError(ctx: KoaContextWithOIDC, errorOutput: ErrorOut, error: Error): void {
  const message = `${explainError(errorOutput, error)} ${goBackSentence}`;
  showPage(ctx, createMessagePage('This link does not work', message));
}

function showPage(ctx: KoaContextWithOIDC, page: Page): void {
  const { headers, html } = answerWithPage(page, { cookies: ctx.get('cookie') });
  ctx.set(headers);
  ctx.body = html;
}

const goBackSentence = 'Go back to the application that sent you here and connect again.';

function explainError({ error, error_description: description }: ErrorOut, thrown: Error): string {
  if (thrown instanceof errors.SessionNotFound) {
    return 'This request was answered before, waited too long, or began in another sign-in.';
  }
  if (error === 'invalid_redirect_uri') {
    return 'The application wants its answer at an address that it has not registered.';
  }
  if (description === undefined || description === 'client is invalid') {
    return 'The gateway does not know this application, or no longer.';
  }
  return sentenceOf(description);
}

function sentenceOf(text: string): string {
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return capitalized.endsWith('.') ? capitalized : `${capitalized}.`;
}

const toOptionalText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
