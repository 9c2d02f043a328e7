import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import { classifyInboundRequest } from '@modelcontextprotocol/server';
import { context, propagation } from '@opentelemetry/api';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { inSpan } from '#telemetry';
import type { Deps } from '../deps.ts';
import { mayUse } from '#contracts/scopes';
import { headersOf, statusOf, toAppError } from '../plugins/error-handler.ts';
import { contextOf } from '../context.ts';
import { admit, chargeBody, disconnectSignal, refuseOtherMethods } from '../plugins/routes.ts';
import type { Admitted } from '../plugins/routes.ts';
import { afterRecording, askedOfTool } from '../refused.ts';
import { assertAcceptable, assertOwnOrigin, challengeOf, readBearer } from './admission.ts';
import { createClientRequests } from './client-requests.ts';
import { serveRequest } from './exchange.ts';
import { rpcCodes, rpcError } from './json-rpc.ts';
import { streamNotifications } from './notifications.ts';
import { createProtocolServer } from './server.ts';
import type { McpRequest } from './server.ts';
import { issueSessionId, readSessionId, sessionVersions } from './session-id.ts';
import type { McpSession } from './session-id.ts';
import { hijack } from './serving.ts';
import type { ProtocolServerFactory, Serving } from './serving.ts';
import { serveStateless } from './stateless.ts';
import { tools } from './tools/index.ts';

interface McpRouteOptions {
  readonly deps: Deps;
  /** What speaks behind the transport; the conformance suites bring tools of their own. */
  readonly createServer: ProtocolServerFactory | undefined;
}

const path = '/mcp';
const bodyBytesMax = 262_144;

/** Serves the MCP endpoint: three revisions on one path (docs/reference/calling.md#mcp). */
export async function mcpRoute(
  app: FastifyInstance,
  { deps, createServer = createProtocolServer }: McpRouteOptions,
): Promise<void> {
  const serving: Serving = {
    deps,
    createServer,
    clientRequests: createClientRequests(),
  };

  app.setErrorHandler(async (thrown: unknown, request, reply) => {
    const asked = askedIn(request.body);
    const refused = { asked, error: toAppError(thrown) };
    const error = await afterRecording(deps.refusals, request, refused);
    if (error.code === 'internal') {
      deps.logger.error({ err: error.cause ?? error, requestId: request.id }, 'request failed');
    }
    const hadToken = request.headers.authorization !== undefined;
    void reply
      .code(statusOf(error))
      .headers(headersOf(error, hadToken, challengeOf(deps.site(), error.code)))
      .send(rpcError(error, request.id, request.body));
    return reply;
  });

  const onRequest = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    assertOwnOrigin(deps.site(), request.headers.origin);
    const credential = readBearer(request);
    const caller = await deps.authenticator.authenticate(credential, request.ip);
    request.caller = caller;
    admit(reply, deps.rates.ofCaller(caller));
    const place = deps.underWay.request(caller.claims, reply.raw);
    request.admitted = { credential, caller, place };
  };
  const bodyLimit = Math.min(bodyBytesMax, app.initialConfig.bodyLimit ?? bodyBytesMax);
  app.post(path, { onRequest, bodyLimit }, (request, reply) => post(serving, request, reply));
  app.get(path, { onRequest, exposeHeadRoute: false }, (request, reply) =>
    openStream(serving, request, reply),
  );
  // A session is nothing but its id, so there is nothing to DELETE: 405, as the transport allows.
  refuseOtherMethods(
    app,
    [
      { method: 'GET', url: path },
      { method: 'POST', url: path },
    ],
    { head: false },
  );
}

async function post(
  serving: Serving,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  assertAcceptable(request.headers.accept, ['application/json', 'text/event-stream']);
  chargeBody(serving.deps, request, reply);
  const { headers, body } = request;
  if (Array.isArray(body)) throw invalid('Send one message at a time; batches are not accepted.');
  const { claims } = (request.admitted as Admitted).caller;
  const classified = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: one(headers['mcp-protocol-version']),
    mcpMethodHeader: one(headers['mcp-method']),
    mcpNameHeader: one(headers['mcp-name']),
    body,
  } as Parameters<typeof classifyInboundRequest>[0]);
  if (classified.kind === 'reject') {
    const { code, message, data, httpStatus } = classified;
    const { error, ...rest } = rpcError(invalid(message), request.id, body);
    const explained = { ...error.data, ...(data as object | undefined) };
    return reply.code(httpStatus).send({ ...rest, error: { code, message, data: explained } });
  }
  // From here on it is one JSON-RPC message.
  const message = body as JSONRPCRequest;
  const session = readSession(claims, headers['mcp-session-id'], message);
  assertScope(claims, message);

  return inTraceOf(message, () =>
    inSpan(
      `POST ${path}`,
      { 'mcp.method': message.method?.slice(0, 100) ?? 'response' },
      async () => {
        const served: McpRequest = {
          ...callOf(serving, request),
          isStateless: classified.kind === 'modern',
          opensUrls: session?.opensUrls ?? false,
        };
        if (classified.kind === 'modern') {
          return serveStateless(serving, { served, request, reply });
        }
        if (classified.reason === 'response') {
          serving.clientRequests.answer(ownerOf(claims), body as never);
          return reply.code(202).send();
        }
        assertVersion(one(headers['mcp-protocol-version']), message);
        // What clients notify us of (initialized, cancelled) changes nothing here.
        if (classified.reason === 'notification') return reply.code(202).send();
        return serveWithSession(serving, { served, message, reply });
      },
    ),
  );
}

interface Asked {
  readonly served: McpRequest;
  readonly message: JSONRPCRequest;
  readonly reply: FastifyReply;
}

async function serveWithSession(
  { createServer, clientRequests }: Serving,
  { served, message, reply }: Asked,
): Promise<unknown> {
  const { claims } = served.caller;
  if (message.method === 'initialize') {
    void reply.header('mcp-session-id', issueSessionId(claims, agreedIn(message)));
  }
  const product = createServer(served);
  const answer = await serveRequest('server' in product ? product.server : product, {
    request: message,
    owner: ownerOf(claims),
    clientRequests,
    signal: disconnectSignal(reply),
    openStream: () => hijack(reply),
  });
  if (answer !== null) return reply.send(answer);
  // A stream has carried the answer, or nobody is there to get it.
  return reply.sent ? reply : reply.hijack();
}

async function openStream(
  serving: Serving,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { deps } = serving;
  assertAcceptable(request.headers.accept, ['text/event-stream']);
  const { caller, credential, place } = request.admitted as Admitted;
  readSession(caller.claims, request.headers['mcp-session-id']);
  assertVersion(one(request.headers['mcp-protocol-version']));
  using _stream = deps.underWay.stream(caller.claims);
  place[Symbol.dispose]();
  const signal = AbortSignal.any([disconnectSignal(reply), deps.stopping]);
  const sink = hijack(reply);
  const authenticate = () => deps.authenticator.authenticate(credential);
  await streamNotifications(deps.authEvents, { sink, caller, authenticate, signal });
}

function callOf({ deps }: Serving, request: FastifyRequest) {
  const { caller, credential } = request.admitted as Admitted;
  return {
    deps,
    caller,
    credential,
    authenticate: () => deps.authenticator.authenticate(credential),
    context: contextOf(request),
  };
}

/** Whose answers count for what we ask a client. */
function ownerOf({ orgId, identityId, credential }: Principal): string {
  return `${orgId} ${identityId} ${credential.clientId}`;
}

/** The session a request names; null without one. Anybody else's does not exist. */
function readSession(
  claims: Principal,
  given: string | string[] | undefined,
  message?: JSONRPCRequest,
): McpSession | null {
  if (given === undefined || message?.method === 'initialize') return null;
  const session = readSessionId(claims, String(given));
  if (session !== null) return session;
  throw new AppError('not_found', 'There is no such session; initialize again.', {
    details: { rpc: rpcCodes.sessionNotFound },
  });
}

/** What `initialize` agrees on, as the protocol server is about to answer it. */
function agreedIn({ params }: JSONRPCRequest): McpSession {
  const { protocolVersion, capabilities } = (params ?? {}) as {
    protocolVersion?: unknown;
    capabilities?: { elicitation?: { url?: unknown } | null } | null;
  };
  const version = sessionVersions.find((each) => each === protocolVersion) ?? sessionVersions[0];
  // URL mode came with 2025-11-25.
  const opensUrls = version !== '2025-06-18' && capabilities?.elicitation?.url !== undefined;
  return { version, opensUrls };
}

function assertVersion(given: string | undefined, message?: JSONRPCRequest): void {
  if (given === undefined || message?.method === 'initialize') return;
  if (sessionVersions.some((each) => each === given)) return;
  throw new AppError(
    'invalid_request',
    `MCP-Protocol-Version must be one of ${sessionVersions.join(', ')} here.`,
    { details: { rpc: rpcCodes.refused } },
  );
}

/** What a message asks of a tool, as the audit log says it. */
function askedIn(body: unknown): ReturnType<typeof askedOfTool> {
  const { method, params } = (body ?? {}) as Partial<JSONRPCRequest>;
  if (method !== 'tools/call') return null;
  const tool = tools.find(({ name }) => name === params?.['name']);
  return tool === undefined ? null : askedOfTool(tool, params?.['arguments']);
}

/** Before anything runs, so that a client can ask for the scope and come again (RFC 6750 §3.1). */
function assertScope(claims: Principal, { method, params }: JSONRPCRequest): void {
  if (method !== 'tools/call') return;
  const tool = tools.find(({ name }) => name === params?.['name']);
  const scope = tool?.scopeOf(params?.['arguments']) ?? 'any';
  if (mayUse(claims, scope)) return;
  throw new AppError('insufficient_scope', `${tool?.name} needs the scope ${scope}.`, {
    details: { scope },
  });
}

/** The caller's trace goes on here (MCP: `_meta` carries W3C trace context). */
function inTraceOf<T>({ params }: JSONRPCRequest, work: () => Promise<T>): Promise<T> {
  const meta: unknown = params?._meta;
  if (typeof meta !== 'object' || meta === null) return work();
  return context.with(propagation.extract(context.active(), meta), work);
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

function invalid(message: string): AppError {
  return new AppError('invalid_request', message);
}
