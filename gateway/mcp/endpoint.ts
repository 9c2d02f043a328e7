import type { McpServer, Server } from '@modelcontextprotocol/server';

import type { Deps } from '../deps.ts';
import type { ClientRequests } from './client-requests.ts';
import type { McpRequest } from './protocol-server.ts';

export type ProtocolServerFactory = (request: McpRequest) => Server | McpServer;

/** The objects that all requests to `/mcp` at one replica share. */
export interface McpEndpoint {
  readonly deps: Deps;
  readonly createServer: ProtocolServerFactory;
  readonly clientRequests: ClientRequests;
}
