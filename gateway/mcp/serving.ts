import type { OutgoingHttpHeaders } from 'node:http';

import type { McpServer, Server } from '@modelcontextprotocol/server';
import type { FastifyReply } from 'fastify';

import type { Deps } from '../deps.ts';
import type { ClientRequests } from './client-requests.ts';
import type { McpRequest } from './server.ts';

export type ProtocolServerFactory = (request: McpRequest) => Server | McpServer;

/** What all requests at `/mcp` of one replica share. */
export interface Serving {
  readonly deps: Deps;
  readonly createServer: ProtocolServerFactory;
  readonly clientRequests: ClientRequests;
}

/** Sends the head of an event stream; from here on the response is written by hand. */
export function hijack(reply: FastifyReply): FastifyReply['raw'] {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  return reply.raw;
}
