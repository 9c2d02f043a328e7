import { constants } from 'node:http2';

import { errors } from 'undici';

import { AppError } from '#errors';

import type { HeaderPair } from './header-pair.ts';
import { ProxyFailure } from './proxy.ts';

/** How far an exchange had come when it failed. */
export type Progress = 'nothing_sent' | 'sent' | 'head_received';

/**
 * The head of an answer whose body was not received. It shows that the upstream processed the
 * request.
 */
export interface ResponseHead {
  readonly status: number;
  readonly headers: HeaderPair[];
}

interface FailureFacts {
  readonly progress: Progress;
  readonly head: ResponseHead | undefined;
}

/**
 * What is known about a failed exchange. It is kept beside the error, not on it, so that it cannot
 * be serialised to a caller by accident.
 */
const factsOf = new WeakMap<object, FailureFacts>();

/**
 * Whether the upstream may have seen any of the request. False only where it is proven that nothing
 * was sent: the request was refused, the name did not resolve, or no connection (TCP and TLS) was
 * open. Errors that egress did not throw count as true, so that a call that may change something is
 * never sent twice on a guess.
 */
export function mayHaveLeft(error: unknown): boolean {
  const failureFacts = isObject(error) ? factsOf.get(error) : undefined;
  return failureFacts === undefined || failureFacts.progress !== 'nothing_sent';
}

/** The status and headers, if they arrived before the exchange failed. */
export function receivedHeadOf(error: unknown): ResponseHead | undefined {
  return isObject(error) ? factsOf.get(error)?.head : undefined;
}

/** Records for any thrown value that nothing was sent. */
export function markNothingSent(error: unknown): void {
  if (isObject(error)) factsOf.set(error, { progress: 'nothing_sent', head: undefined });
}

function withProgress(error: AppError, progress: Progress, head?: ResponseHead): AppError {
  factsOf.set(error, { progress, head });
  return error;
}

/**
 * Thrown inside the connector; undici passes it to every request that waited for the connection.
 */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  /** Not the code of a socket error: undici must fail the request, not retry the connection. */
  readonly code = 'EGRESS_REFUSED';
}

/**
 * Every refusal has the same message: a caller must not learn to which addresses a name resolves
 * inside the network.
 */
export function connectionRefused(): AppError {
  return withProgress(
    new AppError(
      'upstream_refused_address',
      'This address cannot be called from here. Use a public https address, or ask the operator to allow it.',
    ),
    'nothing_sent',
  );
}

export function invalidRequest(message: string): AppError {
  return withProgress(new AppError('invalid_request', message), 'nothing_sent');
}

export function upstreamTimedOut(progress: Progress, head?: ResponseHead): AppError {
  const message =
    progress === 'nothing_sent'
      ? 'The upstream could not be connected to in time. Nothing was sent.'
      : 'The upstream did not answer in time.';
  return withProgress(new AppError('upstream_timeout', message), progress, head);
}

export function callCancelled(cause: unknown, progress: Progress, head?: ResponseHead): AppError {
  const error = new AppError('upstream_timeout', 'The call was cancelled before its answer.', {
    cause,
  });
  return withProgress(error, progress, head);
}

export function responseTooLarge(progress: Progress, head?: ResponseHead): AppError {
  const message = 'The answer of the upstream is larger than allowed. Ask for less of it.';
  return withProgress(new AppError('response_too_large', message), progress, head);
}

export function answerIncomplete(
  cause: unknown,
  progress: Progress,
  head?: ResponseHead,
): AppError {
  const message = 'The answer of the upstream was cut off or malformed.';
  return withProgress(new AppError('upstream_incomplete', message, { cause }), progress, head);
}

/** The error of a call that an open circuit breaker refuses. `retryAfter` is in seconds. */
export function unanswered(retryAfter: number): AppError {
  const error = new AppError(
    'upstream_unreachable',
    `The upstream has not answered lately, so nothing was sent. Try again in ${retryAfter} s.`,
    { details: { retry_after: retryAfter } },
  );
  return withProgress(error, 'nothing_sent');
}

export function connectionClosed(): AppError {
  const message = 'Outgoing calls are being shut down. Nothing was sent; try again.';
  return withProgress(new AppError('unavailable', message), 'nothing_sent');
}

/**
 * Turns an error of undici, Node or the connector into an `AppError`. The original message may
 * contain addresses, so it goes into `cause` only.
 */
export function errorOfTransport(
  cause: unknown,
  progress: Progress,
  head?: ResponseHead,
): AppError {
  if (progress === 'nothing_sent') return errorBeforeSending(cause);
  if (http2CodeOf(cause) === constants.NGHTTP2_REFUSED_STREAM && progress === 'sent') {
    // RFC 9113 §8.7: a refused stream was not processed, whatever its method.
    return errorOfTransport(cause, 'nothing_sent');
  }
  if (cause instanceof errors.HeadersOverflowError) return responseTooLarge(progress, head);
  if (progress === 'head_received') return answerIncomplete(cause, progress, head);
  if (isMalformedAnswer(cause)) return answerIncomplete(cause, progress);
  const message = 'The upstream closed the connection without an answer.';
  return withProgress(new AppError('upstream_unreachable', message, { cause }), progress);
}

function errorBeforeSending(cause: unknown): AppError {
  if (cause instanceof AddressRefused) return connectionRefused();
  if (cause instanceof ProxyFailure) return proxyFailed(cause);
  if (cause instanceof errors.ConnectTimeoutError) return upstreamTimedOut('nothing_sent');
  if (cause instanceof errors.ClientClosedError || cause instanceof errors.ClientDestroyedError) {
    return connectionClosed();
  }
  if (cause instanceof errors.InvalidArgumentError) {
    return invalidRequest(
      'The request cannot be expressed in HTTP. Check its method, URL and headers.',
    );
  }
  const found = reasons.find(({ pattern }) => pattern.test(systemCodeOf(cause)));
  const message = `The upstream could not be reached${found === undefined ? '' : `: ${found.says}`}. Nothing was sent.`;
  const details = found === undefined ? {} : { details: { reason: found.reason } };
  const error = new AppError('upstream_unreachable', message, { cause, ...details });
  return withProgress(error, 'nothing_sent');
}

/** Why no connection came about, by the error codes of Node and OpenSSL. */
const reasons = [
  { pattern: /^(?:ENOTFOUND|EAI_)/, reason: 'dns', says: 'its host name could not be looked up' },
  { pattern: /^ECONNREFUSED$/, reason: 'refused', says: 'it accepts no connections at this port' },
  {
    pattern: /^(?:ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG)$/,
    reason: 'no_tls',
    says: 'it does not answer in TLS, which https needs',
  },
  {
    pattern: /^(?:ERR_SSL_|ERR_TLS_|EPROTO|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/,
    reason: 'tls',
    says: 'the TLS handshake failed, as with a certificate that is not valid',
  },
] as const;

function systemCodeOf(cause: unknown): string {
  return isObject(cause) && 'code' in cause ? String(cause.code) : '';
}

/**
 * The error for a tunnel that the operator's proxy did not open. Callers learn the proxy's status
 * and nothing else of its answer, which may name users and hosts of the network.
 */
function proxyFailed(cause: ProxyFailure): AppError {
  const { status } = cause;
  const isRefused = status !== undefined && status < 500;
  const nextStep = isRefused
    ? 'the operator of the gateway has to change that'
    : 'try again, and tell the operator of the gateway if it lasts';
  const error = new AppError(
    'upstream_unreachable',
    `${cause.message}. Nothing was sent; ${nextStep}.`,
    {
      cause,
      details: {
        reason: isRefused ? 'proxy_refused' : 'proxy_failed',
        ...(status === undefined ? {} : { proxy_status: status }),
      },
    },
  );
  return withProgress(error, 'nothing_sent');
}

const malformedFrameCodes: ReadonlySet<unknown> = new Set([
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_FLOW_CONTROL_ERROR,
  constants.NGHTTP2_FRAME_SIZE_ERROR,
  constants.NGHTTP2_COMPRESSION_ERROR,
  constants.NGHTTP2_ENHANCE_YOUR_CALM, // The code of node:http2 when the answer has more header fields than it accepts.
]);

/** The code with which either side reset a stream. */
function http2CodeOf(cause: unknown): unknown {
  return isObject(cause) && 'http2ErrorCode' in cause ? cause.http2ErrorCode : undefined;
}

function isMalformedAnswer(cause: unknown): boolean {
  return (
    malformedFrameCodes.has(http2CodeOf(cause)) ||
    cause instanceof errors.HTTPParserError ||
    cause instanceof errors.ResponseContentLengthMismatchError
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
