import { setTimeout } from 'node:timers/promises';

import { context as activeContext, propagation } from '@opentelemetry/api';

import type { Deadline } from '#bus';
import type { Egress, EgressRequest, EgressResponse } from '#egress';
import { mayHaveLeft, receivedHead } from '#egress';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { parseAddress } from '../request/domain/base-url.ts';
import { injectCredential, secretTextsOf } from '../request/domain/inject.ts';
import { findDownloadTarget, findRedirectTarget, redirectsMax } from './domain/redirect.ts';
import type { HeaderPair } from '../request/domain/built-request.ts';
import {
  requestedWaitMsMax,
  requestedWaitMsOf,
  retriesMax,
  retryDelayMsOf,
} from './domain/retry.ts';
import { createScrubber } from '../answers/domain/scrub.ts';
import { isPlatformCall, sendToOwner } from './send-platform.ts';
import type { Answer, Sending, SendOutcome } from './sending.ts';

type SendDeps = Pick<
  Deps,
  'egress' | 'inlineBytesMax' | 'storedBytesMax' | 'owners' | 'baseUrl' | 'sendsTraceContext'
>;
type ReadDeps = SendDeps & Pick<Deps, 'retries'>;

/**
 * The time that is left for sending. Some time is reserved for shaping and recording the answer.
 */
export function sendingTimeMs(timeoutMs: number, deadline: Deadline): number {
  const remainingMs = deadline.remainingMs();
  return Math.max(1, Math.min(timeoutMs, remainingMs - Math.min(1_000, remainingMs / 4)));
}

/**
 * Sends a read. Retries it after a lost connection, and when the upstream asks the client to wait.
 * Follows redirects within the operation, and redirects to a download at another host, without any
 * credential.
 */
export async function sendRead(deps: ReadDeps, sending: Sending): Promise<Answer> {
  const endsAt = performance.now() + sending.timeoutMs;
  const remainingWait = { leftMs: requestedWaitMsMax };
  let hop: Hop = { url: sending.prepared.request.url, isOutsideOrigin: false };
  for (let hops = 0; ; hops += 1) {
    const answer = await sendWithRetries(deps, { ...sending, ...hop, endsAt, remainingWait });
    const nextHop = hops < redirectsMax ? findNextHop(sending, hop, answer) : undefined;
    if (nextHop === undefined) return hops === 0 ? answer : removeEcho(answer, sending);
    answer.stream?.destroy();
    hop = nextHop;
  }
}

/**
 * Removes injected values from the URL of the answer, because the file name is made from the URL. A
 * redirect may have added them.
 */
function removeEcho(answer: Answer, { credentials }: Sending): Answer {
  const scrubber = createScrubber(secretTextsOf(credentials));
  return { ...answer, url: scrubber.text(answer.url) };
}

interface Hop {
  readonly url: string;
  /**
   * True for a URL outside the upstream's origin. The request to it has none of the headers, body
   * and credentials of the call.
   */
  readonly isOutsideOrigin: boolean;
}

/**
 * Sends a non-read exactly once or not at all. `beforeSend` is called immediately before sending,
 * and may throw to prevent it.
 */
export async function sendOnce(
  deps: SendDeps,
  sending: Sending,
  beforeSend: () => void,
): Promise<SendOutcome> {
  let refusal: unknown;
  const checkBeforeSend = () => {
    try {
      beforeSend();
    } catch (error) {
      refusal = error;
      throw error;
    }
  };
  const { url } = sending.prepared.request;
  try {
    const hop = { url, isOutsideOrigin: false };
    const answer = await exchangeWithUpstream(deps, {
      ...sending,
      ...hop,
      beforeSend: checkBeforeSend,
    });
    return { kind: 'answered', answer };
  } catch (thrown) {
    const error = AppError.from(thrown);
    const isUnsent =
      refusal !== undefined ||
      thrown instanceof UnsendableError ||
      !mayHaveLeft(thrown) ||
      // For a platform call, an error of this kind says that the component did not get the request.
      (isPlatformCall(sending.permit) &&
        error.code === 'unavailable' &&
        error.details['lost'] !== true);
    if (isUnsent) return { kind: 'unsent', error };
    const head = receivedHead(thrown);
    if (head === undefined || head.status > 599) return { kind: 'unknown', error };
    // The status shows that the upstream acted, so the call succeeds without its body.
    const omissionReason = error.code === 'response_too_large' ? 'too_large' : 'incomplete';
    return { kind: 'answered', answer: { ...head, body: null, lost: omissionReason, url } };
  }
}

async function sendWithRetries(
  deps: ReadDeps,
  sending: Sending & Hop & { endsAt: number; remainingWait: { leftMs: number } },
): Promise<Answer> {
  const { origin } = parseAddress(sending.url);
  deps.retries.count(origin);
  for (let attempt = 1; ; attempt += 1) {
    const startedAt = performance.now();
    const timeoutMs = Math.max(1, sending.endsAt - startedAt);
    const [answer, error] = await exchangeWithUpstream(deps, { ...sending, timeoutMs }).then(
      (answered) => [answered, undefined] as const,
      (error: unknown) => [undefined, AppError.from(error)] as const,
    );
    const endedAt = performance.now();
    const delayMs =
      answer === undefined
        ? retryDelayMsOf({ error, attempt, jitter: Math.random() })
        : requestedWaitMsOf(answer, Date.now(), sending.remainingWait.leftMs);
    // Another attempt would take about as long as this one. If that time is not left, returning the
    // error now is better than a timeout.
    const neededMs = (delayMs ?? 0) + Math.max(1, endedAt - startedAt);
    const isWorthIt =
      delayMs !== undefined && attempt <= retriesMax && endedAt + neededMs < sending.endsAt;
    if (!isWorthIt || !deps.retries.spend(origin)) {
      if (answer === undefined) throw error;
      return answer;
    }
    if (answer !== undefined) sending.remainingWait.leftMs -= delayMs;
    answer?.stream?.destroy();
    // When the signal ends the pause early, the next attempt fails because of the signal.
    await setTimeout(delayMs, undefined, { signal: sending.signal }).catch(() => undefined);
  }
}

async function exchangeWithUpstream(
  deps: SendDeps,
  sending: Sending & Hop & { beforeSend?: () => void },
): Promise<Answer> {
  const { prepared, credentials, url, isOutsideOrigin, timeoutMs, beforeSend } = sending;
  if (isPlatformCall(sending.permit)) {
    beforeSend?.();
    return sendToOwner(deps, sending);
  }
  const { egress, inlineBytesMax, storedBytesMax } = deps;
  const { method, headers, body } = prepared.request;
  const requestWithCredentials = isOutsideOrigin
    ? { url, headers: [acceptAnyMediaType, ...defaultHeaders] }
    : injectCredential(
        { method, url, headers: addTransportHeaders(headers, deps.sendsTraceContext), body },
        credentials,
      );
  const response = await sendThroughEgress(egress, {
    method,
    url: requestWithCredentials.url,
    headers: requestWithCredentials.headers,
    body: isOutsideOrigin ? undefined : (body ?? undefined),
    connectTimeoutMs: Math.min(5_000, timeoutMs),
    firstByteTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
    maxBytes: inlineBytesMax,
    overflow: 'stream',
    streamMaxBytes: storedBytesMax,
    circuit: sending.permit.orgId,
    signal: sending.signal,
    beforeSend,
  });
  const { stream, truncated } = response;
  if (response.status > 599) {
    stream?.destroy();
    throw new AppError(
      'upstream_incomplete',
      'The upstream answered with a status that HTTP does not know.',
    );
  }
  return {
    status: response.status,
    headers: response.headers,
    body: truncated || stream ? null : response.body,
    lost: truncated ? 'too_large' : null,
    stream,
    url,
  };
}

/**
 * Sends a request. If `#egress` finds an error in the request, the error names the parameters of
 * the call, because the request was built from them.
 */
async function sendThroughEgress(egress: Egress, request: EgressRequest): Promise<EgressResponse> {
  try {
    return await egress.request(request);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid_request') throw error;
    throw new UnsendableError('invalid_params', error.message);
  }
}

/** The error for a request that was refused before anything was sent. */
class UnsendableError extends AppError {}

const acceptAnyMediaType: HeaderPair = ['accept', '*/*'];
const defaultHeaders: readonly HeaderPair[] = [
  ['accept-encoding', 'gzip, deflate'],
  ['user-agent', 'agent-action-gateway'],
];

/**
 * Adds the headers that every request has. They are not part of the digest that a person approved.
 */
function addTransportHeaders(
  headers: readonly HeaderPair[],
  sendsTraceContext: boolean,
): HeaderPair[] {
  const traceCarrier: Record<string, string> = {};
  if (sendsTraceContext) propagation.inject(activeContext.active(), traceCarrier);
  const missingHeaders = defaultHeaders.filter(
    ([name]) => !headers.some(([given]) => given === name),
  );
  const { traceparent } = traceCarrier;
  if (traceparent === undefined) return [...headers, ...missingHeaders];
  return [
    ...headers.filter(([name]) => name !== 'traceparent'),
    ...missingHeaders,
    ['traceparent', traceparent],
  ];
}

function findNextHop(
  { permit, prepared, credentials }: Sending,
  { isOutsideOrigin }: Hop,
  answer: Answer,
): Hop | undefined {
  const { method } = prepared.request;
  const { action, template } = prepared;
  if (permit.target.kind !== 'action' || (method !== 'GET' && method !== 'HEAD')) return undefined;
  if (template === undefined || answer.status < 300 || answer.status > 399) return undefined;
  const { status, url } = answer;
  const location = answer.headers.find(([name]) => name.toLowerCase() === 'location')?.[1];
  const { action: actionKey, baseUrl } = permit.target;
  const pinnedTo = credentials.flatMap(({ pin }) => (pin ? [pin.baseUrls] : []));
  const headersWithinOrigin = isOutsideOrigin
    ? undefined
    : findRedirectTarget({ status, location, url, template, actionKey, baseUrl, pinnedTo });
  if (headersWithinOrigin !== undefined)
    return { url: headersWithinOrigin, isOutsideOrigin: false };
  if (action?.responseType !== 'binary') return undefined;
  const scrubber = createScrubber(secretTextsOf(credentials));
  const downloadUrl = findDownloadTarget({ status, location, url, scrubber });
  return downloadUrl === undefined ? undefined : { url: downloadUrl, isOutsideOrigin: true };
}
