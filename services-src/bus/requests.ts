import {
  ClosedConnectionError,
  NoRespondersError,
  TimeoutError,
  createInbox,
} from '@nats-io/transport-node';
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';

import type { Outbox } from './outbox.ts';

export interface Requests {
  /** Rejects with NATS's own errors: nobody listens, no answer in time, the connection is gone. */
  request(
    subject: string,
    body: string,
    options: { readonly timeoutMs: number; readonly headers: MsgHdrs },
  ): Promise<Msg>;
}

interface Pending {
  readonly subject: string;
  readonly timer: NodeJS.Timeout;
  resolve(reply: Msg): void;
  reject(failure: Error): void;
}

const noRespondersCode = 503;

/**
 * Request and reply over one subscription to an inbox of our own, as the client library does it.
 * The library's own `request` makes an error object with its stack for every answer that it
 * gets, and writes every request to the socket by itself (docs/adr/0015).
 */
export function openRequests(
  nats: NatsConnection,
  { inboxPrefix, outbox }: { inboxPrefix: string; outbox: Outbox },
): Requests {
  const inbox = `${createInbox(inboxPrefix)}.`;
  const pending = new Map<string, Pending>();
  let asked = 0;

  const take = (token: string): Pending | undefined => {
    const found = pending.get(token);
    if (found === undefined) return undefined;
    pending.delete(token);
    clearTimeout(found.timer);
    return found;
  };
  const rejectAll = (failure: Error) => {
    for (const token of pending.keys()) take(token)?.reject(failure);
  };

  nats.subscribe(`${inbox}*`, {
    callback: (failure, reply) => {
      if (failure) {
        rejectAll(failure);
        return;
      }
      const found = take(reply.subject.slice(inbox.length));
      if (found === undefined) return;
      const nobodyListens = reply.data.length === 0 && reply.headers?.code === noRespondersCode;
      if (nobodyListens) found.reject(new NoRespondersError(found.subject));
      else found.resolve(reply);
    },
  });
  void nats.closed().then(() => rejectAll(new ClosedConnectionError()));

  return {
    request: (subject, body, { timeoutMs, headers }) =>
      new Promise((resolve, reject) => {
        const token = (asked += 1).toString(36);
        const timer = setTimeout(() => take(token)?.reject(new TimeoutError()), timeoutMs);
        pending.set(token, { subject, timer, resolve, reject });
        outbox.send({
          subject,
          body,
          options: { reply: inbox + token, headers },
          onFailure: (failure) => take(token)?.reject(failure),
        });
      }),
  };
}
