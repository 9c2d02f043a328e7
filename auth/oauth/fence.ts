import { Readable } from 'node:stream';

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Provider } from 'oidc-provider';

import type { Principal } from '#contracts/vocabulary';
import { mcpPath } from '#contracts/oauth';
import { AppError } from '#errors';
import { isClientDocumentUrl } from '../domain/oauth-client.ts';
import { requestedScopes } from '../domain/oauth-scopes.ts';
import { callerOf, contextOf } from './callers.ts';
import type { OauthDeps } from './deps.ts';
import { paths, signInPath } from './paths.ts';
import { inRequest } from './request-scope.ts';

/**
 * The only way to the library. It never sees a request as it came: each is written anew from the
 * few parameters and headers that mean something here, so that nothing else can switch anything on.
 */
export function registerFence(app: FastifyInstance, deps: OauthDeps, provider: Provider): void {
  const handle = provider.callback();

  const pass = (request: FastifyRequest, reply: FastifyReply, stand: StandIn) => {
    const scope = {
      caller: stand.caller,
      context: contextOf(request),
      revoking: stand.path === paths.revoke,
    };
    reply.hijack();
    // What the edge of this listener has set so far.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    return inRequest(scope, () => handle(writeAnew(request, deps.baseUrl, stand), reply.raw));
  };

  app.get(paths.authorize, async (request, reply) => {
    const caller = await callerOf(deps, request);
    const query = authorizeParameters(new URLSearchParams(queryOf(request)), deps.baseUrl);
    const path = `${paths.authorize}?${query.toString()}`;
    // Whether that is a client is found out only for somebody who is signed in.
    const isDocumented = isClientDocumentUrl(query.get('client_id') ?? '');
    if (isDocumented && caller === null && query.get('prompt') !== 'none') {
      return reply.redirect(signInPath(path), 303);
    }
    await pass(request, reply, { path, caller, body: null });
    return reply;
  });

  app.get<{ Params: { uid: string } }>(`${paths.authorize}/:uid`, async (request, reply) => {
    const caller = await callerOf(deps, request);
    const { uid } = request.params;
    const path = `${paths.authorize}/${encodeURIComponent(uid)}`;
    await pass(request, reply, { path, caller, body: null, resumes: uid });
  });

  for (const path of [paths.token, paths.revoke]) {
    app.post(path, async (request, reply) => {
      const body = tokenParameters(request.body, deps.baseUrl);
      await pass(request, reply, { path, caller: null, body });
    });
  }
}

interface StandIn {
  readonly path: string;
  readonly caller: Principal | null;
  /** Form parameters; null for a GET. */
  readonly body: URLSearchParams | null;
  /** The waiting authorization that goes on. */
  readonly resumes?: string;
}

/** The library reads a stream with a few properties of a request. */
function writeAnew(
  request: FastifyRequest,
  baseUrl: string,
  { path, caller, body, resumes }: StandIn,
): FastifyRequest['raw'] {
  const { host } = new URL(baseUrl);
  const bytes = body === null ? null : Buffer.from(body.toString());
  // Cookies of the library's own that no browser ever gets: the session is the dashboard's, and a
  // waiting authorization is told by its address.
  const cookies = [
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

const authorizeNames = new Set([
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
  // Refused by name, so that nobody believes they had an effect.
  'request',
  'request_uri',
  'registration',
]);

/** Signing in anew and choosing an account mean, to us, that the person shall be asked. */
const promptMeans: Readonly<Record<string, string>> = {
  login: 'consent',
  select_account: 'consent',
};

function authorizeParameters(given: URLSearchParams, baseUrl: string): URLSearchParams {
  const parameters = keep(given, authorizeNames);
  if (parameters.values().some((value) => value.includes('\0'))) {
    throw new AppError('invalid_request', 'The request holds characters that mean nothing.');
  }
  const clientId = parameters.get('client_id') ?? '';
  if (parameters.has('code_challenge') && !parameters.has('code_challenge_method')) {
    parameters.set('code_challenge_method', 'S256');
  }
  // The others put the answer where pages would have to run a script to read it.
  const mode = parameters.get('response_mode');
  if (mode !== null && mode !== 'query') parameters.set('response_mode', 'unsupported');
  if (parameters.getAll('scope').length < 2) {
    const scopes = requestedScopes(parameters.get('scope') ?? undefined, clientId);
    if (scopes !== undefined) parameters.set('scope', scopes.join(' '));
  }
  const prompt = parameters.get('prompt');
  if (prompt !== null && parameters.getAll('prompt').length === 1) {
    const meant = prompt.split(' ').map((each) => promptMeans[each] ?? each);
    parameters.set('prompt', [...new Set(meant)].join(' '));
  }
  nameAudience(parameters, baseUrl);
  return parameters;
}

const tokenNames = new Set([
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

function tokenParameters(given: unknown, baseUrl: string): URLSearchParams {
  const parameters = keep(
    given instanceof URLSearchParams ? given : new URLSearchParams(),
    tokenNames,
  );
  const scope = parameters.get('scope');
  if (scope !== null && parameters.getAll('scope').length === 1) {
    const named = scope.split(' ').filter((each) => !ignoredOnRefresh.has(each));
    if (named.length === 0) parameters.delete('scope');
    else parameters.set('scope', named.join(' '));
  }
  nameAudience(parameters, baseUrl);
  return parameters;
}

const ignoredOnRefresh = new Set(['', 'offline_access', 'openid', 'profile', 'email']);

/** Twice is enough for the library to refuse a parameter; of `resource` there may be several (RFC 8707 §2). */
function keep(given: URLSearchParams, names: ReadonlySet<string>): URLSearchParams {
  const counts = new Map<string, number>();
  const kept = [...given].filter(([name]) => {
    if (!names.has(name)) return false;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count <= 2 || name === 'resource';
  });
  return new URLSearchParams(kept);
}

/** The base URL and the MCP endpoint are one audience (docs/reference/identities.md#scopes). */
function nameAudience(parameters: URLSearchParams, baseUrl: string): void {
  const resources = parameters.getAll('resource');
  parameters.delete('resource');
  const names = new Set([baseUrl, `${baseUrl}/`, `${baseUrl}${mcpPath}`, `${baseUrl}${mcpPath}/`]);
  const meant = resources.map((resource) => {
    const plain = URL.parse(resource)?.href ?? resource;
    return names.has(plain) ? baseUrl : resource;
  });
  for (const resource of new Set(meant)) parameters.append('resource', resource);
}

function queryOf(request: FastifyRequest): string {
  const start = request.url.indexOf('?');
  return start === -1 ? '' : request.url.slice(start + 1);
}
