import { deadlineIn } from '#bus';
import type { ServiceRequest } from '#contracts/http/requests';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import type { IncomingCall } from './incoming-call.ts';
import { watchFeed } from './watch-feed.ts';

/** The request is read again at this interval even without an event. */
const rereadEveryMs = 5_000;

type WaitOptions = Pick<IncomingCall, 'authenticate' | 'waitMs'> & {
  readonly id: string;
  readonly disconnectSignal: AbortSignal;
};

/**
 * Returns a request as soon as it is closed. If the waiting time ends, the client disconnects or
 * the gateway stops first, it returns the request as it is then. Waiting only occupies one listener
 * of the feed.
 */
export async function awaitRequest(
  deps: Pick<Deps, 'executor' | 'feed' | 'stopping'>,
  { authenticate, waitMs, id, disconnectSignal: disconnected }: WaitOptions,
): Promise<ServiceRequest> {
  const untilMs = performance.now() + waitMs;
  // Subscribing before the first read ensures that no answer is missed.
  using changes = watchFeed(
    deps,
    disconnected,
    ({ event: { type, data } }) => type === 'request.closed' && data['request_id'] === id,
  );
  let latestRequest: ServiceRequest | undefined;
  for (;;) {
    const { principal } = await authenticate();
    try {
      latestRequest = await deps.executor.getRequest({ principal, id }, deadlineIn(2_000));
    } catch (thrown) {
      const error = AppError.from(thrown);
      if (latestRequest === undefined || error.code !== 'unavailable') throw error;
    }
    const leftMs = untilMs - performance.now();
    if (latestRequest.status !== 'open' || leftMs <= 0) return latestRequest;
    if (disconnected.aborted || deps.stopping.aborted) return latestRequest;
    await changes.next(Math.min(leftMs, rereadEveryMs));
  }
}
