import type { OutgoingHttpHeaders } from 'node:http';

import type { FastifyReply } from 'fastify';

/** Returns a signal that aborts when the client disconnects before the answer is sent. */
export function createDisconnectSignal(reply: FastifyReply): AbortSignal {
  const disconnectController = new AbortController();
  if (reply.raw.destroyed && !reply.raw.writableFinished) disconnectController.abort();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) disconnectController.abort();
  });
  return disconnectController.signal;
}

/** Sends the headers of an event stream and returns the raw response to write to. */
export function openEventStream(reply: FastifyReply): FastifyReply['raw'] {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  return reply.raw;
}

/** Sends one JSON message as an event stream, because the client accepts nothing else. */
export function sendAsEvent(reply: FastifyReply, json: string): FastifyReply {
  openEventStream(reply).end(`event: message\ndata: ${json}\n\n`);
  return reply;
}
