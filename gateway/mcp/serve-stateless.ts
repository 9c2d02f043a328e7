import { createMcpHandler } from '@modelcontextprotocol/server';
import type { JSONRPCRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Sink } from '../events/event-stream.ts';
import { createDisconnectSignal, openEventStream, sendAsEvent } from '../http/response.ts';
import type { AdmittedRequest } from '../http/admit-request.ts';
import { createToolChangeBus, watchCredential } from './notifications.ts';
import type { McpEndpoint } from './endpoint.ts';
import { explainAnswer } from './json-rpc.ts';
import type { McpRequest } from './protocol-server.ts';

interface StatelessRequest {
  readonly served: McpRequest;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly isJsonAccepted: boolean;
}

const bufferedBytesMax = 1_048_576;

/**
 * Serves one request of 2026-07-28 through the SDK's handler, which implements the rules of that
 * revision.
 */
export async function serveStateless(
  endpoint: McpEndpoint,
  { served, request, reply, isJsonAccepted }: StatelessRequest,
): Promise<unknown> {
  const { deps, createServer } = endpoint;
  const clientSignal = createDisconnectSignal(reply);
  const isListening = (request.body as JSONRPCRequest).method === 'subscriptions/listen';
  using _stream = isListening ? deps.slots.stream(served.caller.claims) : null;
  if (isListening) (request.admitted as AdmittedRequest).slot[Symbol.dispose]();
  using credentialWatch = isListening ? watchCredential(deps.authEvents, served) : null;
  // A stream ends when the gateway stops or the credential is revoked. A call that has begun
  // continues to its end.
  const endSignal =
    credentialWatch === null
      ? clientSignal
      : AbortSignal.any([clientSignal, deps.stopping, credentialWatch.lost]);
  const handler = createMcpHandler(() => createServer(served), {
    legacy: 'reject',
    bus: createToolChangeBus(deps.authEvents, served.caller),
    onerror: (error) => deps.logger.debug({ err: error, requestId: request.id }, 'mcp refused'),
  });
  const response = await handler.fetch(toWebRequest(request, endSignal), {
    parsedBody: request.body,
  });

  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = explainError(await response.text(), request.body as JSONRPCRequest);
    if (!isJsonAccepted && response.ok && text !== '') return sendAsEvent(reply, text);
    return reply.code(response.status).headers(Object.fromEntries(response.headers)).send(text);
  }
  await copyBody(response.body, openEventStream(reply));
  return reply;
}

/**
 * Replaces the text of the SDK's validator in an error. An answer with a result is neither parsed
 * nor written again.
 */
function explainError(text: string, { method }: JSONRPCRequest): string {
  if (!text.includes('"error":{"code":')) return text;
  const answer = JSON.parse(text) as object;
  const explained = explainAnswer(answer, method);
  return explained === answer ? text : JSON.stringify(explained);
}

function toWebRequest({ headers }: FastifyRequest, signal: AbortSignal): Request {
  const headerEntries = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  // The SDK refuses a client that accepts only one of the two types.
  const accept = 'application/json, text/event-stream';
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: { ...(Object.fromEntries(headerEntries) as Record<string, string>), accept },
    signal,
  });
}

async function copyBody(
  body: ReadableStream<Uint8Array> | null,
  sink: Sink & NodeJS.WritableStream,
) {
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
