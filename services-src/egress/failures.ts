import { constants } from 'node:http2';

import { errors } from 'undici';

import { AppError } from '#errors';

import type { HeaderPair } from './headers.ts';

/** How far an exchange had come when it failed. */
export type Progress = 'nothing_sent' | 'sent' | 'head_received';

/** The head of an answer whose body could not be had: enough to know that the upstream acted. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: HeaderPair[];
}

interface Facts {
  readonly progress: Progress;
  readonly head: ResponseHead | undefined;
}

/** Kept beside the error, not on it, so that nothing here can be serialised to a caller by accident. */
const factsOf = new WeakMap<object, Facts>();

/**
 * Whether the upstream may have seen any of the request. False only where it is proven: the request
 * was refused, the name did not resolve, or no connection (TCP and TLS) was there to write to.
 * An error from elsewhere counts as true, so that a non-read is never sent twice on a guess.
 */
export function mayHaveLeft(error: unknown): boolean {
  const facts = isObject(error) ? factsOf.get(error) : undefined;
  return facts === undefined || facts.progress !== 'nothing_sent';
}

/** Status and headers, if they had arrived before the exchange failed. */
export function receivedHead(error: unknown): ResponseHead | undefined {
  return isObject(error) ? factsOf.get(error)?.head : undefined;
}

/** Notes of any thrown thing that nothing was sent. */
export function markNothingSent(error: unknown): void {
  if (isObject(error)) factsOf.set(error, { progress: 'nothing_sent', head: undefined });
}

function withProgress(error: AppError, progress: Progress, head?: ResponseHead): AppError {
  factsOf.set(error, { progress, head });
  return error;
}

/** Thrown inside the connector, where undici carries it to every request that waited for it. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  /** Not a socket error: undici must fail the request, not try the connection again. */
  readonly code = 'EGRESS_REFUSED';
}

/** One sentence for every refusal: a caller must not learn what a name resolves to in here. */
export function refused(): AppError {
  return withProgress(
    new AppError(
      'upstream_refused_address',
      'This address cannot be called from here. Use a public https address, or ask the operator to allow it.',
    ),
    'nothing_sent',
  );
}

export function invalid(message: string): AppError {
  return withProgress(new AppError('invalid_request', message), 'nothing_sent');
}

export function timedOut(progress: Progress, head?: ResponseHead): AppError {
  const message =
    progress === 'nothing_sent'
      ? 'The upstream could not be connected to in time. Nothing was sent.'
      : 'The upstream did not answer in time.';
  return withProgress(new AppError('upstream_timeout', message), progress, head);
}

export function cancelled(cause: unknown, progress: Progress, head?: ResponseHead): AppError {
  const error = new AppError('upstream_timeout', 'The call was cancelled before its answer.', {
    cause,
  });
  return withProgress(error, progress, head);
}

export function tooLarge(progress: Progress, head?: ResponseHead): AppError {
  const message = 'The answer of the upstream is larger than allowed. Ask for less of it.';
  return withProgress(new AppError('response_too_large', message), progress, head);
}

export function incomplete(cause: unknown, progress: Progress, head?: ResponseHead): AppError {
  const message = 'The answer of the upstream was cut off or malformed.';
  return withProgress(new AppError('upstream_incomplete', message, { cause }), progress, head);
}

/** The breaker is open. `retryAfter` is in seconds. */
export function unanswered(retryAfter: number): AppError {
  const error = new AppError(
    'upstream_unreachable',
    `The upstream has not answered lately, so nothing was sent. Try again in ${retryAfter} s.`,
    { details: { retry_after: retryAfter } },
  );
  return withProgress(error, 'nothing_sent');
}

export function closed(): AppError {
  const message = 'Outgoing calls are being shut down. Nothing was sent; try again.';
  return withProgress(new AppError('unavailable', message), 'nothing_sent');
}

/** Sorts what undici, Node or the connector reported. Their texts contain addresses: `cause` only. */
export function fromTransport(cause: unknown, progress: Progress, head?: ResponseHead): AppError {
  if (progress === 'nothing_sent') return beforeSending(cause);
  if (http2CodeOf(cause) === constants.NGHTTP2_REFUSED_STREAM && progress === 'sent') {
    // RFC 9113 §8.7: a refused stream was not processed, whatever its method.
    return fromTransport(cause, 'nothing_sent');
  }
  if (cause instanceof errors.HeadersOverflowError) return tooLarge(progress, head);
  if (progress === 'head_received') return incomplete(cause, progress, head);
  if (isMalformed(cause)) return incomplete(cause, progress);
  const message = 'The upstream closed the connection without an answer.';
  return withProgress(new AppError('upstream_unreachable', message, { cause }), progress);
}

function beforeSending(cause: unknown): AppError {
  if (cause instanceof AddressRefused) return refused();
  if (cause instanceof errors.ConnectTimeoutError) return timedOut('nothing_sent');
  if (cause instanceof errors.ClientClosedError || cause instanceof errors.ClientDestroyedError) {
    return closed();
  }
  if (cause instanceof errors.InvalidArgumentError) {
    return invalid('The request cannot be expressed in HTTP. Check its method, URL and headers.');
  }
  const message = 'The upstream could not be reached. Nothing was sent.';
  return withProgress(new AppError('upstream_unreachable', message, { cause }), 'nothing_sent');
}

const malformedFrames: ReadonlySet<unknown> = new Set([
  constants.NGHTTP2_PROTOCOL_ERROR,
  constants.NGHTTP2_FLOW_CONTROL_ERROR,
  constants.NGHTTP2_FRAME_SIZE_ERROR,
  constants.NGHTTP2_COMPRESSION_ERROR,
  constants.NGHTTP2_ENHANCE_YOUR_CALM, // More header fields than node:http2 takes.
]);

/** The code with which a stream was reset, by either side. */
function http2CodeOf(cause: unknown): unknown {
  return isObject(cause) && 'http2ErrorCode' in cause ? cause.http2ErrorCode : undefined;
}

function isMalformed(cause: unknown): boolean {
  return (
    malformedFrames.has(http2CodeOf(cause)) ||
    cause instanceof errors.HTTPParserError ||
    cause instanceof errors.ResponseContentLengthMismatchError
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
