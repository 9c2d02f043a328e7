import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';

/** Connects an SDK 1.x client, the most common kind, with an agent key in its header. */
export interface ConnectedClient extends AsyncDisposable {
  readonly client: Client;
  readonly sessionId: string;
}

export async function connectClient(
  url: string,
  token: string,
  capabilities: ClientCapabilities = {},
): Promise<ConnectedClient> {
  const client = new Client({ name: 'test-client', version: '1.0.0' }, { capabilities });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  // With the option exactOptionalPropertyTypes, the SDK's own types contradict each other.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    client,
    sessionId: transport.sessionId ?? '',
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export interface McpReply {
  readonly status: number;
  readonly headers: Headers;
  // eslint-disable-next-line typescript/no-explicit-any -- replies are looked at field by field
  readonly body: any;
}

/** Sends one POST to /mcp. A string body is sent unchanged. */
export async function postMcp(
  url: string,
  token: string | null,
  { body, headers = {} }: { body: unknown; headers?: Record<string, string> },
): Promise<McpReply> {
  const reply = await fetch(new URL('/mcp', url), {
    method: 'POST',
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await reply.text();
  return {
    status: reply.status,
    headers: reply.headers,
    body: text === '' ? null : JSON.parse(text),
  };
}

/** Builds a request of 2026-07-28, which carries the client's information and capabilities. */
export function createStatelessRequest(
  method: string,
  params: Record<string, unknown> = {},
  capabilities: Record<string, unknown> = {},
): { body: Record<string, unknown>; headers: Record<string, string> } {
  const name = params['name'];
  return {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test-client', version: '1.0.0' },
          'io.modelcontextprotocol/clientCapabilities': capabilities,
        },
      },
    },
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
  };
}

export const createInitializeRequest = (protocolVersion = '2025-11-25', capabilities = {}) => ({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion, capabilities, clientInfo: { name: 'test-client', version: '1.0.0' } },
});

export const createToolCall = (
  name: string,
  toolArguments: unknown = {},
  id: string | number = 1,
) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: toolArguments },
});
