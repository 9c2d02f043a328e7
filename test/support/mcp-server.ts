import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';

type Json = Record<string, unknown>;

export interface OfferedTool extends Json {
  readonly name: string;
  readonly inputSchema: { type: 'object' } & Json;
}

/**
 * The kind of MCP server: `sessions` uses the SDK 1.x, with sessions; `stateless` uses the protocol
 * revision 2026-07-28.
 */
export type Era = 'sessions' | 'stateless';

export interface McpHit {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  // eslint-disable-next-line typescript/no-explicit-any -- JSON-RPC, looked at field by field
  readonly message: any;
}

export type Intercept = (hit: McpHit, reply: ServerResponse) => boolean;

export interface TestMcpServer extends AsyncDisposable {
  readonly url: string;
  readonly host: string;
  /** Every request that arrived, in order. */
  readonly hits: McpHit[];
  readonly tools: OfferedTool[];
  /** Computes the result of a call, for all tools. */
  answer: (name: string, given: Json) => Json;
  pageSize: number;
  /** True if the server answers with plain JSON even where an event stream is allowed. */
  answersInPlainJson: boolean;
  /**
   * True if the server announces, in the event stream of each call, that its tools have changed.
   */
  announcesToolChanges: boolean;
  /** The bearer token that the server requires; null if it requires none. */
  token: string | null;
  /**
   * Receives each request before the server. If it returns true, it has handled the request, and
   * the server does nothing.
   */
  intercept: Intercept;
  /** Forgets all sessions, as a server does when it restarts. */
  forgetSessions(): void;
  calls(): McpHit[];
}

/** Starts a real MCP server of the given kind on loopback. The server logs every request. */
export async function startMcpServer(era: Era, tools: OfferedTool[]): Promise<TestMcpServer> {
  const hits: McpHit[] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const serveRequest = era === 'sessions' ? serveSessions : serveStateless;
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { method = '', headers } = request;
      const hit: McpHit = { method, headers, message: text === '' ? null : JSON.parse(text) };
      hits.push(hit);
      if (state.intercept(hit, reply)) return;
      if (state.token !== null && headers.authorization !== `Bearer ${state.token}`) {
        reply.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
        return;
      }
      void serveRequest({ state, sessions }, { request, reply, hit });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: TestMcpServer = {
    url: `http://${host}/mcp`,
    host,
    hits,
    tools,
    answer: (name, given) => ({
      content: [{ type: 'text', text: `${name} ${JSON.stringify(given)}` }],
    }),
    pageSize: 2,
    answersInPlainJson: false,
    announcesToolChanges: false,
    token: null,
    intercept: () => false,
    forgetSessions: () => sessions.clear(),
    calls: () => hits.filter(({ message }) => message?.method === 'tools/call'),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return state;
}

interface ServerState {
  readonly state: TestMcpServer;
  readonly sessions: Map<string, StreamableHTTPServerTransport>;
}

interface HttpExchange {
  readonly request: IncomingMessage;
  readonly reply: ServerResponse;
  readonly hit: McpHit;
}

function toolPageOf({ tools, pageSize }: TestMcpServer, cursor: unknown) {
  const firstIndex = Number(cursor ?? 0);
  const endIndex = firstIndex + pageSize;
  return {
    tools: tools.slice(firstIndex, endIndex),
    ...(endIndex < tools.length ? { nextCursor: String(endIndex) } : {}),
  };
}

/** Answers a call. For an unknown tool, throws the same error as the MCP SDKs. */
function answerOf(
  { tools, answer }: TestMcpServer,
  { name, arguments: given = {} }: { name: string; arguments?: Json | undefined },
): Json {
  if (tools.some((tool) => tool.name === name)) return answer(name, given);
  throw Object.assign(new Error(`Tool ${name} not found`), { code: -32_602 });
}

async function serveSessions(
  { state, sessions }: ServerState,
  { request, reply, hit }: HttpExchange,
): Promise<void> {
  const id = request.headers['mcp-session-id'];
  const knownSession = typeof id === 'string' ? sessions.get(id) : undefined;
  if (knownSession !== undefined) {
    await knownSession.handleRequest(request, reply, hit.message);
    return;
  }
  if (id !== undefined || hit.message?.method !== 'initialize') {
    const error = { code: -32_000, message: 'Session not found' };
    reply.writeHead(id === undefined ? 400 : 404, { 'content-type': 'application/json' });
    reply.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
    return;
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    enableJsonResponse: state.answersInPlainJson,
    onsessioninitialized: (session) => void sessions.set(session, transport),
  });
  const capabilities = { tools: { listChanged: true } };
  const server = new Server({ name: 'old', version: '1' }, { capabilities });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    toolPageOf(state, params?.cursor),
  );
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification }) => {
    if (state.announcesToolChanges)
      await sendNotification({ method: 'notifications/tools/list_changed' });
    return answerOf(state, params);
  });
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  await transport.handleRequest(request, reply, hit.message);
}

async function serveStateless(
  { state }: ServerState,
  { request, reply, hit }: HttpExchange,
): Promise<void> {
  const handler = createMcpHandler(
    () => {
      const { server } = new McpServer(
        { name: 'new', version: '1' },
        { capabilities: { tools: {} } },
      );
      server.setRequestHandler(
        'tools/list',
        ({ params }) => toolPageOf(state, params?.cursor) as never,
      );
      server.setRequestHandler('tools/call', ({ params }) => answerOf(state, params) as never);
      return server;
    },
    { legacy: 'reject' },
  );
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  const webRequest = new Request(state.url, {
    method: 'POST',
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: JSON.stringify(hit.message),
  });
  const response = await handler.fetch(webRequest, { parsedBody: hit.message });
  reply.writeHead(response.status, Object.fromEntries(response.headers));
  reply.end(Buffer.from(await response.arrayBuffer()));
}

const repository = { type: 'string', description: 'owner/name' };

/** Three tools: one with a scope parameter, one that reads, and one that deletes. */
export const createSampleTools = (): OfferedTool[] => [
  {
    name: 'create_issue',
    description: 'Creates an issue in a repository',
    inputSchema: {
      type: 'object',
      properties: { repository, title: { type: 'string' }, token: { type: 'string' } },
      required: ['repository', 'title'],
    },
  },
  {
    name: 'list_issues',
    description: 'Lists issues',
    inputSchema: { type: 'object', properties: { repository }, required: ['repository'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'delete_repo',
    description: 'Deletes a repository',
    inputSchema: { type: 'object', properties: { repository }, required: ['repository'] },
    annotations: { destructiveHint: true },
  },
];

/** A template for an MCP server that `startMcpServer` has started, as an admin would save it. */
export function mcpTemplate(
  key: string,
  url: string,
  auth = 'none',
  tools = defaultOverrides,
): string {
  return `openapi: 3.1.0
info: { title: Issues, key: ${key}, category: Testing }
runtime: mcp
mcp:
  url: ${url}
  auth: ${auth}${credentialOf[auth]?.(key) ?? ''}
  tools:
${tools}`;
}

const credentialOf: Readonly<Record<string, ((key: string) => string) | undefined>> = {
  bearer: (key) => `\n  secret: ${key}_token`,
  oauth: () => '\n  provider: acme',
};
const defaultOverrides = `    create_issue:
      scope_param: repository
      disclose: [{ label: Title, filter: .params.title }]
      redact: [params.token]
    list_issues: { risk: read }
`;
