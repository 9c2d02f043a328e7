import { SpanKind, SpanStatusCode, context, propagation } from '@opentelemetry/api';
import { headers as createHeaders } from '@nats-io/transport-node';
import type { Msg, MsgHdrs, Subscription } from '@nats-io/transport-node';
import { z } from 'zod';

import { AppError, askAgain, errorCodes, unknownCritical } from '#errors';
import { takeCritical } from '../contracts/critical.ts';
import { subjectOf } from '../contracts/define.ts';
import type { Contract, EndpointSpec } from '../contracts/define.ts';
import { readTolerantly } from '../contracts/tolerant.ts';
import type { Component } from '../contracts/vocabulary.ts';
import type { Readiness } from '../readiness/readiness.ts';
import { overShare } from '../shares/index.ts';
import type { CallerLevel } from '../shares/index.ts';
import type { Logger } from '../telemetry/logger.ts';
import { startSpan } from '../telemetry/span.ts';
import { accountOf, importedReplyPrefix } from './accounts.ts';
import type { Bus } from './connect.ts';
import { deadlineIn } from './deadline.ts';
import type { Deadline } from './deadline.ts';
import { createInFlightLimit } from './in-flight-limit.ts';
import {
  errorCodeHeader,
  errorHeader,
  timeoutHeader,
  traceGetter,
  withoutDatabaseHeader,
} from './headers.ts';

export type Handlers<C extends Contract> = {
  readonly [Name in keyof C['endpoints']]: (
    request: z.output<C['endpoints'][Name]['request']>,
    deadline: Deadline,
    /** The calling component, as the NATS server reports it in the subject. */
    caller: Component,
  ) => Promise<z.input<C['endpoints'][Name]['response']>>;
};

type AnyHandler = (request: unknown, deadline: Deadline, caller: Component) => Promise<unknown>;

interface ServeOptions {
  readonly logger: Logger;
  /**
   * The most requests that are handled at a time, shared between callers. Further requests are
   * refused at once.
   */
  readonly inFlightMax?: number;
  /** Without `readiness`, the component always takes requests. */
  readonly readiness?: Pick<Readiness, 'takesRequests' | 'onChange' | 'suspect'>;
}

/**
 * NATS refuses a larger message. The server answers with a typed error in place of a larger reply,
 * so that the caller is not left without an answer.
 */
const replyBytesMax = 4 * 1024 * 1024 - 4096;

/**
 * Serves a contract's endpoints until disposed; then it stops listening and finishes the running
 * requests. While the component does not take requests, it is not subscribed to them, so they reach
 * other replicas, or are answered by the NATS server when there is none. The NATS server delivers a
 * request under the endpoint's subject with the caller's account appended as the last token. Callers
 * that the contract does not name are refused, even when the NATS configuration lets them through. The promise resolves when the NATS server knows
 * the subscriptions; after that, no request fails for lack of a responder.
 */
export async function serve<C extends Contract>(
  bus: Bus,
  contract: C,
  handlers: Handlers<C>,
  { logger, inFlightMax = 1024, readiness }: ServeOptions,
): Promise<AsyncDisposable> {
  const listenOptions = {
    bus,
    logger,
    contract,
    inFlight: new Set<Promise<void>>(),
    inFlightLimit: createInFlightLimit(inFlightMax),
    onDatabaseLost: () => readiness?.suspect(),
  };
  const endpoints = Object.entries(contract.endpoints).map(([name, endpoint]) => ({
    name,
    endpoint: { ...endpoint, request: z.compile(endpoint.request) },
    handler: (handlers as Record<string, AnyHandler>)[name] as AnyHandler,
  }));
  let subscriptions: Subscription[] = [];
  const unsubscribeAll = async (): Promise<void> => {
    const leftSubscriptions = subscriptions;
    subscriptions = [];
    // Requests that the NATS server sends before it learns of this are still handled.
    await Promise.allSettled(leftSubscriptions.map((subscription) => subscription.drain()));
  };
  const followReadiness = (): void => {
    if (readiness?.takesRequests() === false) void unsubscribeAll();
    else if (subscriptions.length === 0) {
      subscriptions = endpoints.map((each) => subscribeToEndpoint(each, listenOptions));
    }
  };
  const readinessSubscription = readiness?.onChange(followReadiness);
  followReadiness();
  await bus.nats.flush();

  return {
    async [Symbol.asyncDispose]() {
      readinessSubscription?.[Symbol.dispose]();
      await unsubscribeAll();
      await Promise.allSettled(listenOptions.inFlight);
    },
  };
}

interface ListenOptions extends Pick<AnswerOptions, 'bus' | 'logger' | 'onDatabaseLost'> {
  readonly contract: Contract;
  readonly inFlight: Set<Promise<void>>;
  readonly inFlightLimit: ReturnType<typeof createInFlightLimit>;
}

/** Subscribes to the requests for one endpoint. */
function subscribeToEndpoint(
  {
    name,
    endpoint,
    handler,
  }: { readonly name: string; readonly endpoint: EndpointSpec; readonly handler: AnyHandler },
  { bus, logger, contract, inFlight, inFlightLimit, onDatabaseLost }: ListenOptions,
): Subscription {
  const subject = subjectOf(contract, name);
  const callersBySubject = new Map(
    endpoint.callers.map((caller) => [`${subject}.${accountOf(caller)}`, caller]),
  );
  return bus.nats.subscribe(`${subject}.*`, {
    queue: contract.owner,
    callback: (failure, message) => {
      if (failure) {
        logger.error({ err: failure, endpoint: name }, 'subscription failed');
        return;
      }
      const caller = callersBySubject.get(message.subject);
      // A request that did not cross from another NATS account has no reliable caller.
      if (message.reply?.startsWith(importedReplyPrefix) !== true) {
        // The request gets no answer, because its reply subject may belong to any component.
        logger.error({ subject: message.subject }, 'request did not come through an import');
        return;
      }
      if (caller === undefined) {
        logger.error({ subject: message.subject }, 'caller is not named in the contract');
        respondError(bus, message, new AppError('forbidden', `${subject} is not for you.`));
        return;
      }
      const inFlightPlace = inFlightLimit.take(message, caller);
      if (typeof inFlightPlace === 'string') {
        respondError(bus, message, refusalError(contract.owner, inFlightPlace));
        return;
      }
      const answering = answerRequest(message, endpoint, {
        bus,
        handler,
        logger,
        subject,
        caller,
        onDatabaseLost,
      });
      inFlight.add(answering);
      void answering.finally(() => {
        inFlight.delete(answering);
        inFlightPlace[Symbol.dispose]();
      });
    },
  });
}

function refusalError(component: Component, fullLevel: CallerLevel | 'pool'): AppError {
  if (fullLevel !== 'pool') return overShare(fullLevel, { what: 'requests', component });
  return new AppError('unavailable', `The ${component} component is busy.`, {
    details: { component, busy: true },
  });
}

interface AnswerOptions {
  readonly bus: Bus;
  readonly handler: AnyHandler;
  readonly logger: Logger;
  /** The endpoint's subject, without the caller. */
  readonly subject: string;
  readonly caller: Component;
  readonly onDatabaseLost: () => void;
}

/** Never rejects: every outcome, expected or not, becomes a reply. */
async function answerRequest(
  message: Msg,
  endpoint: EndpointSpec,
  { bus, handler, logger, subject, caller, onDatabaseLost }: AnswerOptions,
): Promise<void> {
  const parent = propagation.extract(context.active(), message.headers, traceGetter);
  await startSpan(subject, { kind: SpanKind.SERVER, parent }, async (span) => {
    try {
      const timeoutMs = Number(message.headers?.get(timeoutHeader)) || endpoint.timeoutMs;
      const request = parseRequest(endpoint, message);
      const deadline = deadlineIn(Math.min(timeoutMs, endpoint.timeoutMs));
      const response = await handler(request, deadline, caller);
      sendResponse(bus, message, parseResponse(endpoint, response));
    } catch (thrown) {
      const error = AppError.from(thrown);
      const isDatabaseLost = error.code === 'unavailable' && error !== thrown;
      if (isDatabaseLost) onDatabaseLost();
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.code });
      if (error.code === 'internal') {
        logger.error({ err: error.cause ?? error, subject, caller }, 'request failed');
      }
      respondError(bus, message, error, { isDatabaseLost });
    } finally {
      span.end();
    }
  });
}

function sendResponse(bus: Bus, message: Msg, response: unknown): void {
  const body = JSON.stringify(response);
  if (Buffer.byteLength(body) > replyBytesMax) {
    throw new AppError('too_large', 'The answer is too large to return; ask for less of it.');
  }
  sendReply(bus, message, { body });
}

/**
 * Refuses a request that does not match the contract. A later release may have sent it, so the
 * refusal tells the caller to try another replica first (`askAgain`).
 */
function parseRequest(endpoint: EndpointSpec, message: Msg): unknown {
  const { unknown, rest } = takeCritical(endpoint.request, parseJson(message));
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

function parseJson(message: Msg): unknown {
  try {
    return message.json();
  } catch (cause) {
    throw new AppError('invalid_request', 'The request is not JSON.', { cause });
  }
}

function respondError(
  bus: Bus,
  message: Msg,
  error: AppError,
  { isDatabaseLost = false } = {},
): void {
  const headers = createHeaders();
  if (isDatabaseLost) headers.set(withoutDatabaseHeader, 'true');
  // A header value is one line, so it holds the error code only; the full text is in the body.
  headers.set(errorHeader, error.code);
  headers.set(errorCodeHeader, String(errorCodes[error.code].httpStatus));
  const { code, message: text, details } = error;
  sendReply(bus, message, { body: JSON.stringify({ code, message: text, details }), headers });
}

/**
 * Errors of sending are ignored: without a connection the caller cannot be told, and its deadline
 * ends the request.
 */
function sendReply(
  { outbox }: Bus,
  { reply: subject }: Msg,
  { body, headers }: { body: string; headers?: MsgHdrs },
): void {
  if (subject === undefined) return;
  outbox.send({
    subject,
    body,
    ...(headers && { options: { headers } }),
    onFailure: () => undefined,
  });
}
