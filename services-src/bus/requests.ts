import {
  ClosedConnectionError,
  NoRespondersError,
  TimeoutError,
  createInbox,
} from '@nats-io/transport-node';
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node';

import type { Outbox } from './outbox.ts';

export interface Requests {
  /**
   * Rejects with NATS's own errors (no responders, no answer in time, a closed connection), or with
   * `LostConnectionError`. A request that was never sent is rejected with the error for no
   * responders.
   */
  request(subject: string, body: string, options: RequestOptions): Promise<Msg>;
}

interface RequestOptions {
  readonly timeoutMs: number;
  readonly headers: MsgHdrs;
  /** Called with the remaining time just before the request is sent, each time that it is sent. */
  readonly onSend?: (leftMs: number) => void;
}

/**
 * The connection was lost after the request had been sent over it. The answer cannot come any more,
 * because the NATS server knows no other way to the requester. This error is thrown once there is a
 * connection again, so the caller can at once ask what became of the request. It is the `cause` of
 * the AppError that clients get.
 */
export class LostConnectionError extends Error {}

interface PendingRequest extends RequestOptions {
  readonly subject: string;
  readonly body: string;
  readonly expiresAt: number;
  timer: NodeJS.Timeout | undefined;
  /** Whether the request may have reached somebody. */
  wasSent: boolean;
  /** When NATS first found no responders for the request. */
  withoutRespondersAt?: number;
  resolve(reply: Msg): void;
  reject(failure: Error): void;
}

const noRespondersCode = 503;
/**
 * How long after the loss of the connection requests wait for the next connection. Requests that
 * are made later than that fail at once.
 */
const connectionWaitMsMax = 2_000;
/**
 * After a restart of the NATS server, requesters may be connected again before responders are. For
 * this long after a reconnection, a request without responders is sent again.
 */
const resendAfterReconnectMs = 2_000;
/**
 * How long a request without responders is sent again at any other time. While a NATS server reloads
 * its configuration, it finds no responders for a moment although all are connected
 * (docs/reference/upgrades.md#what-may-change-between-two-releases).
 */
const reloadMsMax = 500;
const sendAgainAfterMs = 50;

/**
 * Implements request and reply over one subscription to an inbox, as the client library does. It
 * replaces the library's own `request`, which creates an error object with its stack for every
 * answer and writes every request to the socket separately (docs/adr/0015).
 *
 * While there is no connection, requests wait here, because the library would drop most messages
 * that are published meanwhile. When there is a connection again, the waiting requests are sent,
 * and those that were sent over the lost connection are rejected.
 */
export function openRequests(
  nats: NatsConnection,
  { inboxPrefix, outbox }: { inboxPrefix: string; outbox: Outbox },
): Requests {
  const inbox = `${createInbox(inboxPrefix)}.`;
  const { pending, take, rejectAll, rejectIn } = createPendingRequests();
  let requestCount = 0;

  const send = (token: string) => {
    const request = pending.get(token);
    if (request === undefined || request.wasSent || connectionWatch.isLost()) return;
    const { subject, body, headers, onSend, expiresAt } = request;
    const leftMs = Math.max(0, Math.floor(expiresAt - performance.now()));
    onSend?.(leftMs);
    rejectIn(leftMs, token, request);
    request.wasSent = true;
    outbox.send({
      subject,
      body,
      options: { reply: inbox + token, headers },
      onFailure: (failure) => take(token)?.reject(failure),
    });
  };
  const onNoResponders = (token: string, request: PendingRequest) => {
    request.withoutRespondersAt ??= performance.now();
    const waitedMs = performance.now() - request.withoutRespondersAt;
    if (waitedMs >= reloadMsMax && !connectionWatch.isRecent()) {
      take(token)?.reject(new NoRespondersError(request.subject));
      return;
    }
    request.wasSent = false;
    setTimeout(() => send(token), sendAgainAfterMs);
  };
  const connectionWatch = watchConnection(nats, () => {
    for (const [token, { wasSent }] of pending) {
      if (wasSent) take(token)?.reject(new LostConnectionError('The connection was lost.'));
      else send(token);
    }
  });

  nats.subscribe(`${inbox}*`, {
    callback: (failure, reply) => {
      if (failure) {
        rejectAll(failure);
        return;
      }
      const token = reply.subject.slice(inbox.length);
      const request = pending.get(token);
      if (request === undefined) return;
      const hasNoResponder = reply.data.length === 0 && reply.headers?.code === noRespondersCode;
      if (hasNoResponder) onNoResponders(token, request);
      else take(token)?.resolve(reply);
    },
  });
  void nats.closed().then(() => rejectAll(new ClosedConnectionError()));

  return {
    request: (subject, body, options) =>
      new Promise((resolve, reject) => {
        const token = (requestCount += 1).toString(36);
        const expiresAt = performance.now() + options.timeoutMs;
        const sendState = { timer: undefined, wasSent: false, resolve, reject };
        const request: PendingRequest = { ...options, subject, body, expiresAt, ...sendState };
        pending.set(token, request);
        if (connectionWatch.isLost()) {
          rejectIn(Math.min(connectionWatch.heldMs(), options.timeoutMs), token, request);
        } else send(token);
      }),
  };
}

/** The requests under way, by the last token of their reply subjects. */
function createPendingRequests() {
  const requestsByToken = new Map<string, PendingRequest>();
  const takeRequest = (token: string): PendingRequest | undefined => {
    const pendingRequest = requestsByToken.get(token);
    if (pendingRequest === undefined) return undefined;
    requestsByToken.delete(token);
    clearTimeout(pendingRequest.timer);
    return pendingRequest;
  };
  const rejectAll = (failure: Error) => {
    for (const token of requestsByToken.keys()) takeRequest(token)?.reject(failure);
  };
  const rejectAfter = (ms: number, token: string, request: PendingRequest) => {
    clearTimeout(request.timer);
    request.timer = setTimeout(() => {
      const failure = request.wasSent ? new TimeoutError() : new NoRespondersError(request.subject);
      takeRequest(token)?.reject(failure);
    }, ms);
  };
  return { pending: requestsByToken, take: takeRequest, rejectAll, rejectIn: rejectAfter };
}

/**
 * Watches the connection, and calls `onConnectedAgain` each time that it is open again after a
 * loss.
 */
function watchConnection(nats: NatsConnection, onConnectedAgain: () => void) {
  let lostAt: number | undefined;
  let connectedAgainAt = -Infinity;
  void (async () => {
    for await (const { type } of nats.status()) {
      if (type === 'disconnect') lostAt ??= performance.now();
      if (type !== 'reconnect') continue;
      lostAt = undefined;
      connectedAgainAt = performance.now();
      onConnectedAgain();
    }
  })();
  return {
    isLost: () => lostAt !== undefined,
    /** How much longer new requests wait for a connection. */
    heldMs: () => Math.max(0, (lostAt ?? 0) + connectionWaitMsMax - performance.now()),
    /**
     * Whether the connection was opened again so recently that responders may not be connected yet.
     */
    isRecent: () => performance.now() - connectedAgainAt < resendAfterReconnectMs,
  };
}
