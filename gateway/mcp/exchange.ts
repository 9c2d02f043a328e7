import type {
  JSONRPCMessage,
  JSONRPCRequest,
  JSONRPCResponse,
  Server,
  Transport,
} from '@modelcontextprotocol/server';

import type { Sink } from '../event-stream.ts';
import type { ClientRequests } from './client-requests.ts';

interface ExchangeOptions {
  readonly request: JSONRPCRequest;
  /** Who asks; answers to what we ask on this stream count from nobody else. */
  readonly owner: string;
  readonly clientRequests: ClientRequests;
  /** Sends the head of an event stream: from then on everything is written to it. */
  readonly openStream: () => Sink;
  /** Aborts when the client is gone or the gateway stops. */
  readonly signal: AbortSignal;
}

const bufferedBytesMax = 1_048_576;

/**
 * Serves one request of the revisions with sessions: a server of its own, connected to a
 * transport whose life is this one POST. The SDK's HTTP transport costs more than everything else
 * of a call, so this one is ours. Resolves with the answer to send as JSON, or with null once an
 * event stream has carried it.
 */
export async function serveRequest(
  server: Server,
  { request, owner, clientRequests, openStream, signal }: ExchangeOptions,
): Promise<JSONRPCMessage | null> {
  let sink: Sink | undefined;
  let settle: (answer: JSONRPCMessage | null) => void = () => undefined;
  const settled = new Promise<JSONRPCMessage | null>((resolve) => (settle = resolve));
  const deliver = (answer: JSONRPCResponse) => transport.onmessage?.(answer);

  const transport: Transport = {
    async start() {},
    async send(message) {
      const isAnswer = !('method' in message);
      if (isAnswer && sink === undefined) return settle(message);
      sink ??= openStream();
      const sent = clientRequests.send(owner, message, deliver);
      sink.write(`event: message\ndata: ${JSON.stringify(sent)}\n\n`);
      if (sink.writableLength > bufferedBytesMax) sink.destroy();
      if (isAnswer) settle(null);
    },
    async close() {
      transport.onclose?.();
      settle(null);
    },
  };

  const end = () => void transport.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    await server.connect(transport);
    transport.onmessage?.(request);
    if (signal.aborted) end();
    return await settled;
  } finally {
    signal.removeEventListener('abort', end);
    clientRequests.forget(deliver);
    sink?.end();
    await server.close();
  }
}
