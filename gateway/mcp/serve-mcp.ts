import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import { classifyInboundRequest } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { mcpPath } from '#contracts/oauth';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { mayUseRoute } from '#contracts/scopes';
import { headersOf, methodNotAllowed, statusOf, toAppError } from '../http/error-handler.ts';
import { contextOf } from '../records/request-context.ts';
import { applyRateLimit, chargeBody, countPublicRequest } from '../http/admit-request.ts';
import { inRequestSpan } from '../http/request-span.ts';
import { refuseOtherMethods } from '../http/refuse-other-methods.ts';
import { createDisconnectSignal, openEventStream, sendAsEvent } from '../http/response.ts';
import type { AdmittedRequest } from '../http/admit-request.ts';
import { recordRequestRefusal, describeToolCall } from '../records/record-refusal.ts';
import {
  assertKnownOrigin,
  challengeOf,
  doesAccept,
  notAcceptableError,
  preflightHeaders,
  readBearer,
} from './check-headers.ts';
import { createClientRequests } from './client-requests.ts';
import { serveRequest } from './serve-with-session.ts';
import { rpcCodes, toRpcError } from './json-rpc.ts';
import { streamNotifications } from './notifications.ts';
import { createProtocolServer } from './protocol-server.ts';
import type { McpRequest } from './protocol-server.ts';
import { issueSessionId, readSessionId, sessionVersions } from './session-id.ts';
import type { McpSession } from './session-id.ts';
import type { ProtocolServerFactory, McpEndpoint } from './endpoint.ts';
import { serveStateless } from './serve-stateless.ts';
import { tools } from '../mcp-tools/tools.ts';
import { findTraceparent, mcpAttributesOf } from './trace-message.ts';

interface ServeMcpOptions {
  readonly deps: Deps;
  /** Creates the protocol servers. Conformance suites pass a function of their own. */
  readonly createServer: ProtocolServerFactory | undefined;
}

/** Some clients write the path with a slash at the end. */
const mcpUrls = [mcpPath, `${mcpPath}/`];
const bodyBytesMax = 262_144;

/**
 * Serves the MCP endpoint: three revisions of the protocol on one path
 * (docs/reference/calling.md#mcp).
 */
export async function serveMcp(
  app: FastifyInstance,
  { deps, createServer = createProtocolServer }: ServeMcpOptions,
): Promise<void> {
  const endpoint: McpEndpoint = {
    deps,
    createServer,
    clientRequests: createClientRequests(),
  };

  app.setErrorHandler(async (thrown: unknown, request, reply) => {
    const action = describeMessage(request.body);
    const refusal = { action, error: toAppError(thrown) };
    const error = await recordRequestRefusal(deps.refusals, request, refusal);
    request.outcome = error.code;
    if (error.code === 'internal') {
      deps.logger.error({ err: error.cause ?? error, requestId: request.id }, 'request failed');
    }
    const hadToken = request.headers.authorization !== undefined;
    void reply
      .code(statusOf(error))
      .headers(headersOf(error, hadToken, challengeOf(deps.site(), error.code, request.host)))
      .send(toRpcError(error, request.id, request.body));
    return reply;
  });

  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    void reply.headers(assertKnownOrigin(deps, request.headers.origin));
    const credential = readBearer(request);
    const caller = await deps.authenticator.authenticate(credential, request.ip);
    request.caller = caller;
    applyRateLimit(reply, deps.rates.countRequest(caller));
    const slot = deps.slots.request(caller.claims, reply.raw);
    request.admitted = { credential, caller, slot };
  };
  const bodyLimit = Math.min(bodyBytesMax, app.initialConfig.bodyLimit ?? bodyBytesMax);
  for (const url of mcpUrls) {
    app.post(url, { onRequest, bodyLimit }, (request, reply) =>
      handlePost(endpoint, request, reply),
    );
    app.get(url, { onRequest, exposeHeadRoute: false }, (request, reply) =>
      serveNotifications(endpoint, request, reply),
    );
    app.options(url, { onRequest: countPublicRequest(deps) }, async (request, reply) => {
      const corsHeaders = assertKnownOrigin(deps, request.headers.origin);
      if (Object.keys(corsHeaders).length > 0)
        return reply
          .code(204)
          .headers({ ...corsHeaders, ...preflightHeaders })
          .send();
      void reply.header('allow', 'GET, POST');
      throw methodNotAllowed(['GET', 'POST']);
    });
  }
  // Sessions are not stored, so there is nothing to DELETE. The specification of the transport
  // allows 405 in this case.
  const servedRoutes = mcpUrls.flatMap((url) => ['GET', 'POST'].map((method) => ({ method, url })));
  refuseOtherMethods(app, servedRoutes, { head: false, options: false });
}

async function handlePost(
  endpoint: McpEndpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const isStreamAccepted = doesAccept(request.headers.accept, 'text/event-stream');
  const isJsonAccepted = doesAccept(request.headers.accept, 'application/json');
  if (!isStreamAccepted && !isJsonAccepted)
    throw notAcceptableError('application/json or text/event-stream');
  chargeBody(endpoint.deps, request, reply);
  const { headers, body } = request;
  if (Array.isArray(body))
    throw invalidRequestError('Send one message at a time; batches are not accepted.');
  const { claims } = (request.admitted as AdmittedRequest).caller;
  const classified = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: joinHeader(headers['mcp-protocol-version']),
    mcpMethodHeader: joinHeader(headers['mcp-method']),
    mcpNameHeader: joinHeader(headers['mcp-name']),
    body,
  } as Parameters<typeof classifyInboundRequest>[0]);
  if (classified.kind === 'reject') {
    const { code, message, data, httpStatus } = classified;
    request.outcome = 'invalid_request';
    const { error, ...rest } = toRpcError(invalidRequestError(message), request.id, body);
    const explainedData = { ...error.data, ...(data as object | undefined) };
    return reply.code(httpStatus).send({ ...rest, error: { code, message, data: explainedData } });
  }
  // At this point the body is a single JSON-RPC message; everything else was refused above.
  const message = body as JSONRPCRequest;
  const session = readSession(claims, headers['mcp-session-id'], message);
  assertScope(claims, message);

  return inRequestSpan(
    { request, reply },
    {
      name: `POST ${mcpPath}`,
      attributes: mcpAttributesOf(message),
      traceparent: findTraceparent(message),
    },
    async () => {
      const mcpRequest: McpRequest = {
        ...requestPartsOf(endpoint, request),
        isStateless: classified.kind === 'modern',
        opensUrls: isStreamAccepted && (session?.opensUrls ?? false),
      };
      if (classified.kind === 'modern') {
        return serveStateless(endpoint, {
          served: mcpRequest,
          request,
          reply,
          isJsonAccepted,
        });
      }
      if (classified.reason === 'response') {
        endpoint.clientRequests.answer(ownerOf(claims), body as never);
        return reply.code(202).send();
      }
      assertVersion(joinHeader(headers['mcp-protocol-version']), message);
      // Notifications of clients (initialized, cancelled) need no action.
      if (classified.reason === 'notification') return reply.code(202).send();
      return serveWithSession(endpoint, {
        served: mcpRequest,
        message,
        reply,
        isStreamAccepted,
        isJsonAccepted,
      });
    },
  );
}

interface SessionRequest {
  readonly served: McpRequest;
  readonly message: JSONRPCRequest;
  readonly reply: FastifyReply;
  readonly isStreamAccepted: boolean;
  readonly isJsonAccepted: boolean;
}

async function serveWithSession(
  { createServer, clientRequests }: McpEndpoint,
  { served, message, reply, isStreamAccepted, isJsonAccepted }: SessionRequest,
): Promise<unknown> {
  const { claims } = served.caller;
  if (message.method === 'initialize') {
    void reply.header('mcp-session-id', issueSessionId(claims, agreeSession(message)));
  }
  const createdServer = createServer(served);
  const answer = await serveRequest(
    'server' in createdServer ? createdServer.server : createdServer,
    {
      request: message,
      owner: ownerOf(claims),
      clientRequests,
      signal: createDisconnectSignal(reply),
      openStream: isStreamAccepted ? () => openEventStream(reply) : null,
    },
  );
  if (answer !== null && isJsonAccepted) return reply.send(answer);
  if (answer !== null) return sendAsEvent(reply, JSON.stringify(answer));
  // Either the answer was sent on a stream, or the client has disconnected.
  return reply.sent ? reply : reply.hijack();
}

async function serveNotifications(
  endpoint: McpEndpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { deps } = endpoint;
  if (!doesAccept(request.headers.accept, 'text/event-stream'))
    throw notAcceptableError('text/event-stream');
  const { caller, credential, slot } = request.admitted as AdmittedRequest;
  readSession(caller.claims, request.headers['mcp-session-id']);
  assertVersion(joinHeader(request.headers['mcp-protocol-version']));
  using _stream = deps.slots.stream(caller.claims);
  slot[Symbol.dispose]();
  const signal = AbortSignal.any([createDisconnectSignal(reply), deps.stopping]);
  const sink = openEventStream(reply);
  const authenticate = () => deps.authenticator.authenticate(credential);
  await streamNotifications(deps.authEvents, { sink, caller, authenticate, signal });
}

function requestPartsOf({ deps }: McpEndpoint, request: FastifyRequest) {
  const { caller, credential } = request.admitted as AdmittedRequest;
  return {
    deps,
    caller,
    credential,
    authenticate: () => deps.authenticator.authenticate(credential),
    context: contextOf(request),
  };
}

/**
 * Identifies a client, so that only this client may answer the requests that the gateway sent to
 * it.
 */
function ownerOf({ orgId, identityId, credential }: Principal): string {
  return `${orgId} ${identityId} ${credential.clientId}`;
}

/**
 * Returns the session that a request names, or null if it names none. A session of another caller
 * is reported as missing.
 */
function readSession(
  claims: Principal,
  headerValue: string | string[] | undefined,
  message?: JSONRPCRequest,
): McpSession | null {
  if (headerValue === undefined || message?.method === 'initialize') return null;
  const session = readSessionId(claims, String(headerValue));
  if (session !== null) return session;
  throw new AppError('not_found', 'There is no such session; initialize again.', {
    details: { rpc: rpcCodes.sessionNotFound },
  });
}

/** Computes the settings that the protocol server and the client will agree on at `initialize`. */
function agreeSession({ params }: JSONRPCRequest): McpSession {
  const { protocolVersion, capabilities } = (params ?? {}) as {
    protocolVersion?: unknown;
    capabilities?: { elicitation?: { url?: unknown } | null } | null;
  };
  const version = sessionVersions.find((each) => each === protocolVersion) ?? sessionVersions[0];
  // URL-mode elicitation was added in 2025-11-25.
  const opensUrls = version !== '2025-06-18' && capabilities?.elicitation?.url !== undefined;
  return { version, opensUrls };
}

function assertVersion(versionHeader: string | undefined, message?: JSONRPCRequest): void {
  if (versionHeader === undefined || message?.method === 'initialize') return;
  if (sessionVersions.some((each) => each === versionHeader)) return;
  throw new AppError(
    'invalid_request',
    `MCP-Protocol-Version must be one of ${sessionVersions.join(', ')} here.`,
    { details: { rpc: rpcCodes.refused } },
  );
}

/** Describes the tool call in a message for the audit log. */
function describeMessage(body: unknown): ReturnType<typeof describeToolCall> {
  const { method, params } = (body ?? {}) as Partial<JSONRPCRequest>;
  if (method !== 'tools/call') return null;
  const tool = tools.find(({ name }) => name === params?.['name']);
  return tool === undefined ? null : describeToolCall(tool, params?.['arguments']);
}

/**
 * The scope is checked before anything runs, so that a client can obtain the missing scope and
 * repeat the request (RFC 6750 §3.1).
 */
function assertScope(claims: Principal, { method, params }: JSONRPCRequest): void {
  if (method !== 'tools/call') return;
  const tool = tools.find(({ name }) => name === params?.['name']);
  const toolScope = tool?.scopeOf(params?.['arguments']) ?? 'any';
  if (mayUseRoute(claims, toolScope)) return;
  throw new AppError('insufficient_scope', `${tool?.name} needs the scope ${toolScope}.`, {
    details: { scope: toolScope },
  });
}

function joinHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

function invalidRequestError(message: string): AppError {
  return new AppError('invalid_request', message);
}
