import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

import { lastingPort } from '../services-src/embedded/index.ts';

/** One request to `/mcp` or below `/v1`, as the simulated gateway received it. */
export interface McpCall {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly response: ServerResponse;
}

/**
 * A simulated gateway for tests. `/mcp` answers as the test specifies, and the authorization server
 * grants every request.
 */
export interface Gateway extends AsyncDisposable {
  readonly url: string;
  readonly calls: McpCall[];
  /** Bodies of the requests to each OAuth endpoint. */
  readonly oauthRequests: { path: string; body: URLSearchParams; json: Record<string, unknown> }[];
  /** The access tokens that the simulated gateway accepts at the moment. */
  readonly accessTokens: Set<string>;
  /** Refresh tokens that nobody has used yet. Using any other refresh token revokes all tokens. */
  readonly refreshTokens: Set<string>;
  /** Stops listening and closes all connections. `restart` listens on the same port again. */
  readonly stop: () => Promise<void>;
  readonly restart: () => Promise<void>;
}

export interface GatewayBehaviour {
  readonly answerMcp?: (call: McpCall) => void | Promise<void>;
  /** Answers requests below `/v1`. They need an access token, as requests to `/mcp` do. */
  readonly answerRest?: (call: McpCall) => void | Promise<void>;
  /**
   * The token endpoint awaits this function between marking a refresh token as used and answering.
   */
  readonly whileRefreshing?: () => Promise<void>;
  /** Members to add to the answers of the token endpoint. */
  readonly addedTokenMembers?: Record<string, unknown>;
  /**
   * Answers authorization requests directly with these parameters instead of showing a consent
   * page.
   */
  readonly authorize?: (query: URLSearchParams) => Record<string, string>;
  /** Replaces the usual metadata documents. */
  readonly metadataDocuments?: Record<string, (url: string) => unknown>;
  /**
   * Whether the authorization server knows a client, and therefore lets it revoke tokens. By
   * default the server knows every client.
   */
  readonly knowsClient?: (id: string) => boolean;
  /** Whether `/mcp` accepts requests without an access token. */
  readonly acceptsAnyone?: boolean;
}

export async function startGateway(behaviour: GatewayBehaviour = {}): Promise<Gateway> {
  const {
    answerMcp: mcp = answerWithEcho,
    addedTokenMembers = {},
    acceptsAnyone = false,
  } = behaviour;
  const calls: McpCall[] = [];
  const oauthRequests: Gateway['oauthRequests'] = [];
  const accessTokens = new Set<string>();
  const refreshTokens = new Set<string>();
  let tokenCount = 0;
  let clientCount = 0;
  const issueTokens = () => {
    const access_token = `CANARY-access-${++tokenCount}`;
    const refresh_token = `CANARY-refresh-${tokenCount}`;
    accessTokens.add(access_token);
    refreshTokens.add(refresh_token);
    return {
      access_token,
      refresh_token,
      token_type: 'Bearer',
      expires_in: 900,
      ...addedTokenMembers,
    };
  };
  const documents: Record<string, (url: string) => unknown> = {
    '/.well-known/oauth-protected-resource/mcp': (url) => ({
      resource: url,
      authorization_servers: [url],
      scopes_supported: ['mcp', 'user'],
    }),
    '/.well-known/oauth-authorization-server': (url) => ({
      issuer: url,
      authorization_endpoint: `${url}/oauth/authorize`,
      token_endpoint: `${url}/oauth/token`,
      registration_endpoint: `${url}/oauth/register`,
      revocation_endpoint: `${url}/oauth/revoke`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
    }),
    ...behaviour.metadataDocuments,
  };

  // The gateway uses this timeout too. Node's default of five seconds is too short on a busy
  // machine.
  const server = createServer({ keepAliveTimeout: 72_000 });
  let url = '';
  const json = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

  server.on('request', (request, response) => {
    void (async () => {
      const { pathname, searchParams } = new URL(request.url ?? '/', url);
      const body = await text(request);
      const { method = '', headers } = request;
      const call = { method, path: request.url ?? '/', headers, body, response };
      if (pathname === '/mcp') return handleProtected(call, mcp);
      if (pathname.startsWith('/v1/') && behaviour.answerRest) {
        return handleProtected(call, behaviour.answerRest);
      }
      const document = documents[pathname];
      if (document) return json(response, 200, document(url));
      if (!pathname.startsWith('/oauth/')) return json(response, 404, { error: 'not_found' });
      const isJson = headers['content-type']?.startsWith('application/json') === true;
      const form = method === 'GET' ? searchParams : new URLSearchParams(isJson ? '' : body);
      oauthRequests.push({ path: pathname, body: form, json: isJson ? JSON.parse(body) : {} });
      await handleOAuth(pathname, form, response);
    })();
  });

  async function handleProtected(
    call: McpCall,
    answer: (call: McpCall) => void | Promise<void>,
  ): Promise<void> {
    calls.push(call);
    const token = /^Bearer (.+)$/.exec(call.headers.authorization ?? '')?.[1];
    if (!acceptsAnyone && !accessTokens.has(token ?? '') && token?.startsWith('aak_') !== true) {
      const challenge = `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/mcp", scope="mcp"`;
      call.response.setHeader('www-authenticate', challenge);
      json(call.response, 401, { error: 'unauthenticated', message: 'Sign in first.' });
      return;
    }
    await answer(call);
  }

  async function handleOAuth(path: string, form: URLSearchParams, response: ServerResponse) {
    if (path === '/oauth/register') {
      json(response, 201, { client_id: `client-${++clientCount}` });
    } else if (path === '/oauth/authorize') {
      const answer = behaviour.authorize?.(form) ?? { code: 'CANARY-code', iss: url };
      const target = new URL(form.get('redirect_uri') ?? '');
      const state = form.get('state') ?? '';
      for (const [name, value] of Object.entries({ state, ...answer })) {
        target.searchParams.set(name, value);
      }
      response.writeHead(303, { location: target.href }).end();
    } else if (path === '/oauth/token' && form.get('grant_type') === 'authorization_code') {
      json(response, 200, issueTokens());
    } else if (path === '/oauth/token') {
      if (!refreshTokens.delete(form.get('refresh_token') ?? '')) {
        accessTokens.clear();
        refreshTokens.clear();
        json(response, 400, { error: 'invalid_grant' });
        return;
      }
      await behaviour.whileRefreshing?.();
      json(response, 200, issueTokens());
    } else if (behaviour.knowsClient?.(form.get('client_id') ?? '') === false) {
      json(response, 401, { error: 'invalid_client' });
    } else {
      response.writeHead(200).end();
    }
  }

  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const stop = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  await listen(await lastingPort());
  return {
    url,
    calls,
    oauthRequests,
    accessTokens,
    refreshTokens,
    stop,
    restart: () => listen(Number(new URL(url).port)),
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * Answers a request with a result that repeats the parameters of the request. A notification gets
 * no answer.
 */
export function answerWithEcho({ method, body, response }: McpCall): void {
  if (method === 'GET') return void response.writeHead(405).end();
  if (method === 'DELETE') return void response.writeHead(200).end();
  const { id, params } = JSON.parse(body) as { id?: unknown; params?: unknown };
  if (id === undefined) return void response.writeHead(202).end();
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { echo: params ?? null } }));
}
