import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { Context } from '@opentelemetry/api';

import { AppError, askAgain, unknownCritical } from '#errors';
import { takeCritical } from '../contracts/critical.ts';
import type { EndpointSpec } from '../contracts/define.ts';
import { readTolerantly } from '../contracts/tolerant.ts';
import type { Component } from '../contracts/vocabulary.ts';
import type { Logger } from '../telemetry/logger.ts';
import { recordDuration, startDuration } from '../telemetry/metrics.ts';
import { startSpan } from '../telemetry/span.ts';
import { deadlineIn } from './deadline.ts';
import type { Deadline } from './deadline.ts';
import { rpcAttributesOf } from './rpc-attributes.ts';

/**
 * The most bytes of a request or an answer: what NATS allows for a message (`max_payload`), less
 * the headers. Both transports refuse a larger message with a typed error, so that every caller
 * gets an answer.
 */
export const messageBytesMax = 4 * 1024 * 1024 - 4096;

export type AnyHandler = (
  request: unknown,
  deadline: Deadline,
  caller: Component,
) => Promise<unknown>;

export interface ServedEndpoint {
  /** The endpoint's subject, without the caller. */
  readonly subject: string;
  /** The component and the name of the endpoint, for metrics and spans. */
  readonly method: string;
  readonly endpoint: EndpointSpec;
  readonly handler: AnyHandler;
  readonly logger: Logger;
  readonly onDatabaseLost: () => void;
}

export interface IncomingRequest {
  readonly caller: Component;
  /** The time that the caller allows; undefined leaves the limit of the endpoint. */
  readonly timeoutMs: number | undefined;
  /** The span of the caller; unset when it is the active span. */
  readonly parent?: Context;
  /** @throws AppError `invalid_request` when the request is not JSON */
  readonly readJson: () => unknown;
}

/** How an answer reaches the caller. `reply` may refuse an answer by throwing an AppError. */
export interface Replies {
  readonly reply: (response: unknown) => void;
  readonly refuse: (error: AppError, options: { isDatabaseLost: boolean }) => void;
}

/** Never rejects: every outcome, expected or not, becomes a reply. */
export async function answerRequest(
  { subject, method, endpoint, handler, logger, onDatabaseLost }: ServedEndpoint,
  { caller, timeoutMs, parent, readJson }: IncomingRequest,
  { reply, refuse }: Replies,
): Promise<void> {
  const startedAt = startDuration();
  let errorType = '';
  const spanOptions = {
    kind: SpanKind.SERVER,
    attributes: rpcAttributesOf(method),
    ...(parent && { parent }),
  };
  await startSpan(subject, spanOptions, async (span) => {
    try {
      const request = parseRequest(endpoint, readJson());
      const deadline = deadlineIn(Math.min(timeoutMs ?? Infinity, endpoint.timeoutMs));
      const response = await handler(request, deadline, caller);
      reply(parseResponse(endpoint, response));
    } catch (thrown) {
      const error = AppError.from(thrown);
      errorType = error.code;
      const isDatabaseLost = error.code === 'unavailable' && error !== thrown;
      if (isDatabaseLost) onDatabaseLost();
      span.setAttribute('error.type', error.code);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.code });
      if (error.code === 'internal') {
        logger.error({ err: error.cause ?? error, subject, caller }, 'request failed');
      }
      refuse(error, { isDatabaseLost });
    } finally {
      span.end();
      recordDuration('rpc.server.call.duration', startedAt, {
        'rpc.method': method,
        'error.type': errorType,
      });
    }
  });
}

export function requestTooLargeError(component: string): AppError {
  return new AppError('too_large', `The request to ${component} is too large. Send less at once.`);
}

export function answerTooLargeError(): AppError {
  return new AppError('too_large', 'The answer is too large to return; ask for less of it.');
}

/**
 * Refuses a request that does not match the contract. A later release may have sent it, so the
 * refusal tells the caller to try another replica first (`askAgain`).
 */
function parseRequest(endpoint: EndpointSpec, json: unknown): unknown {
  const { unknown, rest } = takeCritical(endpoint.request, json);
  if (unknown.length > 0) throw unknownCritical(unknown);
  const parsedMessage = readTolerantly(endpoint.request, rest);
  if (parsedMessage.success) return parsedMessage.data;
  const issues = parsedMessage.error.issues.slice(0, 20).map((issue) => ({
    path: issue.path.join('.'),
    message: issue.message,
  }));
  throw askAgain(
    new AppError('invalid_request', 'The request does not match the contract.', {
      details: { issues },
    }),
  );
}

/**
 * Removes members that the contract does not declare. Values that only another release knows are
 * kept, because what the component answers may have been stored by that release.
 */
function parseResponse(endpoint: EndpointSpec, response: unknown): unknown {
  if (endpoint.hot) return response;
  const parsedMessage = readTolerantly(endpoint.response, response, 'pass');
  if (!parsedMessage.success) throw parsedMessage.error;
  return parsedMessage.data;
}
