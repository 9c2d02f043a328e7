import { Readable } from 'node:stream';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Provider } from 'oidc-provider';

import { findChosenTheme, themeCookieName } from '#contracts/http/theme';
import type { Principal } from '#contracts/vocabulary';
import { mcpPath, originsOf } from '#contracts/oauth';
import { AppError } from '#errors';
import { isClientDocumentUrl } from '../oauth-clients/domain/oauth-client.ts';
import { readBasicClient } from './domain/basic-client.ts';
import { isKnownScope, requestedScopes } from './domain/oauth-scopes.ts';
import { callerOf, contextOf } from './session-caller.ts';
import type { OauthDeps } from './deps.ts';
import { oauthPaths, signInPathTo } from './paths.ts';
import { runInRequestScope } from './request-scope.ts';

/**
 * Every request to the library `oidc-provider` passes through this fence. The fence builds a new
 * request from the few parameters and headers that the gateway supports, so that no other parameter
 * can activate a feature of the library.
 */
export function registerFence(app: FastifyInstance, deps: OauthDeps, provider: Provider): void {
  const handleByLibrary = provider.callback();

  const forward = (
    request: FastifyRequest,
    reply: FastifyReply,
    rewrittenRequest: RewrittenRequest,
  ) => {
    const scope = {
      caller: rewrittenRequest.caller,
      context: contextOf(request),
      revoking: rewrittenRequest.path === oauthPaths.revoke,
    };
    reply.hijack();
    // Copies the headers that hooks of this listener have set, because the library writes the reply
    // itself.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    return runInRequestScope(scope, () =>
      handleByLibrary(buildRequest(request, deps.baseUrl, rewrittenRequest), reply.raw),
    );
  };

  app.get(oauthPaths.authorize, async (request, reply) => {
    const caller = await callerOf(deps, request);
    const query = toAuthorizeParameters(new URLSearchParams(queryOf(request)), deps.baseUrl);
    const path = `${oauthPaths.authorize}?${query.toString()}`;
    // A metadata document is fetched only for a signed-in user.
    const isDocumentClient = isClientDocumentUrl(query.get('client_id') ?? '');
    if (isDocumentClient && caller === null && query.get('prompt') !== 'none') {
      return reply.redirect(signInPathTo(path), 303);
    }
    await forward(request, reply, { path, caller, body: null });
    return reply;
  });

  app.get<{ Params: { uid: string } }>(`${oauthPaths.authorize}/:uid`, async (request, reply) => {
    const caller = await callerOf(deps, request);
    const { uid } = request.params;
    const path = `${oauthPaths.authorize}/${encodeURIComponent(uid)}`;
    await forward(request, reply, { path, caller, body: null, resumedId: uid });
  });

  for (const path of [oauthPaths.token, oauthPaths.revoke]) {
    app.post(path, async (request, reply) => {
      const body = toTokenParameters(request.body, deps.baseUrl);
      // If the body names a client, that client is used. The header may contain a password for a
      // proxy instead.
      const client = body.has('client_id')
        ? undefined
        : readBasicClient(request.headers.authorization);
      if (client !== undefined && 'problem' in client) {
        return reply
          .code(401)
          .header('www-authenticate', 'Basic realm="oauth"')
          .send({ error: 'invalid_client', error_description: client.problem });
      }
      if (client !== undefined) body.set('client_id', client.clientId);
      await forward(request, reply, { path, caller: null, body });
    });
  }
}

interface RewrittenRequest {
  readonly path: string;
  readonly caller: Principal | null;
  /** Form parameters; null for a GET. */
  readonly body: URLSearchParams | null;
  /** The id of the waiting authorization that this request resumes. */
  readonly resumedId?: string;
}

/**
 * Builds the request that the library reads: a stream with the few properties of a request that it
 * needs.
 */
function buildRequest(
  request: FastifyRequest,
  baseUrl: string,
  { path, caller, body, resumedId: resumes }: RewrittenRequest,
): FastifyRequest['raw'] {
  const { host } = new URL(baseUrl);
  const bytes = body === null ? null : Buffer.from(body.toString());
  // The library reads its own cookies, although it never sets them in a browser. They contain the
  // id of the dashboard session and the id of the waiting authorization, which the path names too.
  // Error pages read the theme.
  const theme = findChosenTheme(request.headers.cookie);
  const cookies = [
    ...(theme === null ? [] : [`${themeCookieName}=${theme}`]),
    ...(caller === null ? [] : [`_session=${caller.credential.id}`]),
    ...(resumes === undefined ? [] : [`_interaction_resume=${encodeURIComponent(resumes)}`]),
  ];
  const headers = {
    host,
    accept: body === null ? 'text/html' : 'application/json',
    ...(cookies.length === 0 ? {} : { cookie: cookies.join('; ') }),
    ...(bytes === null
      ? {}
      : {
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': String(bytes.length),
        }),
  };
  const stream = bytes === null ? Readable.from([]) : Readable.from([bytes], { objectMode: false });
  const { socket, httpVersion, httpVersionMajor, httpVersionMinor } = request.raw;
  const method = body === null ? 'GET' : 'POST';
  return Object.assign(stream, {
    method,
    url: path,
    headers,
    socket,
    httpVersion,
    httpVersionMajor,
    httpVersionMinor,
  }) as unknown as FastifyRequest['raw'];
}

const authorizeParameterNames = new Set([
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'state',
  'scope',
  'resource',
  'prompt',
  'code_challenge',
  'code_challenge_method',
  // The library refuses these three parameters by name, so that a client learns that they are not
  // supported.
  'request',
  'request_uri',
  'registration',
]);

/** These values of `prompt` are treated as a request for consent. */
const promptSynonyms: Readonly<Record<string, string>> = {
  login: 'consent',
  select_account: 'consent',
};

function toAuthorizeParameters(
  requestParameters: URLSearchParams,
  baseUrl: string,
): URLSearchParams {
  const parameters = keepNamedParameters(requestParameters, authorizeParameterNames);
  if (parameters.values().some((value) => value.includes('\0'))) {
    throw new AppError('invalid_request', 'The request holds characters that mean nothing.');
  }
  const clientId = parameters.get('client_id') ?? '';
  if (parameters.has('code_challenge') && !parameters.has('code_challenge_method')) {
    parameters.set('code_challenge_method', 'S256');
  }
  // With any other response mode, a page would have to run a script to pass the response on.
  const responseMode = parameters.get('response_mode');
  if (responseMode !== null && responseMode !== 'query')
    parameters.set('response_mode', 'unsupported');
  if (parameters.getAll('scope').length < 2) {
    const scopes = requestedScopes(parameters.get('scope') ?? undefined, clientId);
    if (scopes !== undefined) parameters.set('scope', scopes.join(' '));
  }
  const prompt = parameters.get('prompt');
  if (prompt !== null && parameters.getAll('prompt').length === 1) {
    const prompts = prompt.split(' ').map((each) => promptSynonyms[each] ?? each);
    parameters.set('prompt', [...new Set(prompts)].join(' '));
  }
  normalizeAudience(parameters, baseUrl);
  return parameters;
}

const tokenParameterNames = new Set([
  'grant_type',
  'code',
  'redirect_uri',
  'client_id',
  'code_verifier',
  'refresh_token',
  'scope',
  'resource',
  'token',
  'token_type_hint',
]);

function toTokenParameters(body: unknown, baseUrl: string): URLSearchParams {
  const parameters = keepNamedParameters(
    body instanceof URLSearchParams ? body : new URLSearchParams(),
    tokenParameterNames,
  );
  const scope = parameters.get('scope');
  if (scope !== null && parameters.getAll('scope').length === 1) {
    const namedScopes = scope.split(' ').filter(isKnownScope);
    if (namedScopes.length === 0) parameters.delete('scope');
    else parameters.set('scope', namedScopes.join(' '));
  }
  normalizeAudience(parameters, baseUrl);
  return parameters;
}

/**
 * Keeps at most two values of a parameter, which is enough for the library to refuse a duplicate.
 * `resource` may occur more often (RFC 8707 §2).
 */
function keepNamedParameters(
  parameters: URLSearchParams,
  allowedNames: ReadonlySet<string>,
): URLSearchParams {
  const countByName = new Map<string, number>();
  const namedParameters = [...parameters].filter(([name]) => {
    if (!allowedNames.has(name)) return false;
    const count = (countByName.get(name) ?? 0) + 1;
    countByName.set(name, count);
    return count <= 2 || name === 'resource';
  });
  return new URLSearchParams(namedParameters);
}

/**
 * Replaces the URL of the MCP endpoint, and other names of this machine, by the base URL, because
 * all of them name the same audience (docs/reference/identities.md#scopes).
 */
function normalizeAudience(parameters: URLSearchParams, baseUrl: string): void {
  const resources = parameters.getAll('resource');
  parameters.delete('resource');
  const resourceUrls = new Set(
    originsOf(baseUrl).flatMap((origin) =>
      ['', '/', mcpPath, `${mcpPath}/`].map((path) => `${origin}${path}`),
    ),
  );
  const audiences = resources.map((resource) => {
    const normalizedResource = URL.parse(resource)?.href ?? resource;
    return resourceUrls.has(normalizedResource) ? baseUrl : resource;
  });
  for (const resource of new Set(audiences)) parameters.append('resource', resource);
}

function queryOf(request: FastifyRequest): string {
  const queryStart = request.url.indexOf('?');
  return queryStart === -1 ? '' : request.url.slice(queryStart + 1);
}
