import { createMcpHandler } from '@modelcontextprotocol/server';
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Sink } from '../event-stream.ts';
import { disconnectSignal } from '../plugins/routes.ts';
import type { Admitted } from '../plugins/routes.ts';
import { toolChangesFor, watchAccess } from './notifications.ts';
import { hijack } from './serving.ts';
import type { Serving } from './serving.ts';
import type { McpRequest } from './server.ts';

interface StatelessRequest {
  readonly served: McpRequest;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

const bufferedBytesMax = 1_048_576;

/** Serves one request of 2026-07-28 through the SDK's own handler, which owns the rules of that revision. */
export async function serveStateless(
  serving: Serving,
  { served, request, reply }: StatelessRequest,
): Promise<unknown> {
  const { deps, createServer } = serving;
  const gone = disconnectSignal(reply);
  const isListening = (request.body as JSONRPCRequest).method === 'subscriptions/listen';
  using _stream = isListening ? deps.underWay.stream(served.caller.claims) : null;
  if (isListening) (request.admitted as Admitted).place[Symbol.dispose]();
  using access = isListening ? watchAccess(deps.authEvents, served) : null;
  // A stream ends with the gateway and with its credential; a call that has begun is finished.
  const ended = access === null ? gone : AbortSignal.any([gone, deps.stopping, access.lost]);
  const handler = createMcpHandler(() => createServer(served), {
    legacy: 'reject',
    bus: toolChangesFor(deps.authEvents, served.caller),
    onerror: (error) => deps.logger.debug({ err: error, requestId: request.id }, 'mcp refused'),
  });
  const response = await handler.fetch(toWebRequest(request, ended), { parsedBody: request.body });

  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    return reply
      .code(response.status)
      .headers(Object.fromEntries(response.headers))
      .send(await response.text());
  }
  await pour(response.body, hijack(reply));
  return reply;
}

function toWebRequest({ headers }: FastifyRequest, signal: AbortSignal): Request {
  const plain = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: Object.fromEntries(plain) as Record<string, string>,
    signal,
  });
}

async function pour(body: ReadableStream<Uint8Array> | null, sink: Sink & NodeJS.WritableStream) {
  try {
    for await (const chunk of body ?? []) {
      sink.write(chunk);
      if (sink.writableLength > bufferedBytesMax) {
        sink.destroy();
        return;
      }
    }
  } finally {
    sink.end();
  }
}
