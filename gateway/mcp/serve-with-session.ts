import type {
  JSONRPCMessage,
  JSONRPCRequest,
  JSONRPCResponse,
  Server,
  Transport,
} from '@modelcontextprotocol/server';

import type { Sink } from '../events/event-stream.ts';
import type { ClientRequests } from './client-requests.ts';
import { explainAnswer } from './json-rpc.ts';

interface ExchangeOptions {
  readonly request: JSONRPCRequest;
  /**
   * Identifies the caller: only this caller may answer the requests that the gateway sends on the
   * stream.
   */
  readonly owner: string;
  readonly clientRequests: ClientRequests;
  /**
   * Sends the headers of an event stream; all messages are then written to this stream. Null if the
   * client accepts no stream: then the client gets only the answer.
   */
  readonly openStream: (() => Sink) | null;
  /** Aborts when the client disconnects or the gateway stops. */
  readonly signal: AbortSignal;
}

const bufferedBytesMax = 1_048_576;

/**
 * Serves one request of a revision with sessions: connects a new server to a transport that lasts
 * for this one POST. The gateway has its own transport, because the SDK's HTTP transport costs more
 * time than all other steps of a call together. Resolves with the answer to send as JSON, or with
 * null if the answer was already sent on an event stream.
 */
export async function serveRequest(
  server: Server,
  { request, owner, clientRequests, openStream, signal }: ExchangeOptions,
): Promise<JSONRPCMessage | null> {
  let sink: Sink | undefined;
  let settleAnswer: (answer: JSONRPCMessage | null) => void = () => undefined;
  const settledAnswer = new Promise<JSONRPCMessage | null>((resolve) => (settleAnswer = resolve));
  const deliverMessage = (answer: JSONRPCResponse) => transport.onmessage?.(answer);

  const transport: Transport = {
    async start() {},
    async send(given) {
      const isAnswer = !('method' in given);
      const message = isAnswer ? explainAnswer(given, request.method) : given;
      if (isAnswer && sink === undefined) return settleAnswer(message);
      if (openStream === null) return;
      sink ??= openStream();
      const sentMessage = clientRequests.send(owner, message, deliverMessage);
      sink.write(`event: message\ndata: ${JSON.stringify(sentMessage)}\n\n`);
      if (sink.writableLength > bufferedBytesMax) sink.destroy();
      if (isAnswer) settleAnswer(null);
    },
    async close() {
      transport.onclose?.();
      settleAnswer(null);
    },
  };

  const end = () => void transport.close();
  signal.addEventListener('abort', end, { once: true });
  try {
    await server.connect(transport);
    transport.onmessage?.(request);
    if (signal.aborted) end();
    return await settledAnswer;
  } finally {
    signal.removeEventListener('abort', end);
    clientRequests.forget(deliverMessage);
    sink?.end();
    await server.close();
  }
}
