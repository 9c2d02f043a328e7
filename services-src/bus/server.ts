import { context, propagation } from '@opentelemetry/api';
import { headers as createHeaders } from '@nats-io/transport-node';
import type { Msg, MsgHdrs, Subscription } from '@nats-io/transport-node';
import { z } from 'zod';

import { AppError, errorCodes } from '#errors';
import { subjectOf } from '../contracts/define.ts';
import type { Contract, EndpointSpec } from '../contracts/define.ts';
import type { Component } from '../contracts/vocabulary.ts';
import type { Readiness } from '../readiness/readiness.ts';
import type { Logger } from '../telemetry/logger.ts';
import { observeSlots } from '../telemetry/observe-slots.ts';
import { runWithRequestId } from '../telemetry/request-id.ts';
import { accountOf, importedReplyPrefix } from './accounts.ts';
import { answerRequest, answerTooLargeError, messageBytesMax } from './answer.ts';
import type { AnyHandler, ServedEndpoint } from './answer.ts';
import type { Bus } from './connect.ts';
import type { Deadline } from './deadline.ts';
import {
  errorCodeHeader,
  errorHeader,
  requestIdHeader,
  timeoutHeader,
  traceGetter,
  withoutDatabaseHeader,
} from './headers.ts';
import { createLocalResponder } from './local.ts';
import { createRequestGate } from './request-gate.ts';
import type { RequestGate } from './request-gate.ts';

export type Handlers<C extends Contract> = {
  readonly [Name in keyof C['endpoints']]: (
    request: z.output<C['endpoints'][Name]['request']>,
    deadline: Deadline,
    /** The calling component, as the NATS server reports it in the subject. */
    caller: Component,
  ) => Promise<z.input<C['endpoints'][Name]['response']>>;
};

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
 * Serves a contract's endpoints until disposed; then it stops listening and finishes the running
 * requests. While the component does not take requests, it is not subscribed to them, so they reach
 * other replicas, or are answered by the NATS server when there is none. The NATS server delivers a
 * request under the endpoint's subject with the caller's account appended as the last token. Callers
 * that the contract does not name are refused, even when the NATS configuration lets them through.
 * Components of the same process reach the handlers without NATS when the bus has a local transport.
 * The promise resolves when the NATS server knows the subscriptions; after that, no request fails
 * for lack of a responder.
 */
export async function serve<C extends Contract>(
  bus: Bus,
  contract: C,
  handlers: Handlers<C>,
  { logger, inFlightMax = 1024, readiness }: ServeOptions,
): Promise<AsyncDisposable> {
  const gate = createRequestGate(contract.owner, inFlightMax);
  const endpoints = new Map(
    Object.entries<EndpointSpec>(contract.endpoints).map(
      ([name, endpoint]): [string, ServedEndpoint] => [
        name,
        {
          subject: subjectOf(contract, name),
          method: `${contract.owner}.${name}`,
          endpoint: { ...endpoint, request: z.compile(endpoint.request) },
          handler: (handlers as Record<string, AnyHandler>)[name] as AnyHandler,
          logger,
          onDatabaseLost: () => readiness?.suspect(),
        },
      ],
    ),
  );
  const respondLocally = createLocalResponder(contract, endpoints, gate);
  let localRegistration: Disposable | undefined;
  let subscriptions: Subscription[] = [];
  const stopListening = async (): Promise<void> => {
    localRegistration?.[Symbol.dispose]();
    localRegistration = undefined;
    const leftSubscriptions = subscriptions;
    subscriptions = [];
    // Requests that the NATS server sends before it learns of this are still handled.
    await Promise.allSettled(leftSubscriptions.map((subscription) => subscription.drain()));
  };
  const followReadiness = (): void => {
    if (readiness?.takesRequests() === false) void stopListening();
    else if (subscriptions.length === 0) {
      subscriptions = [...endpoints.values()].map((served) =>
        subscribeToEndpoint(bus, served, { owner: contract.owner, gate }),
      );
      localRegistration = bus.local?.transport.register(contract.owner, respondLocally);
    }
  };
  const slotMetrics = observeSlots(`bus.${contract.owner}`, {
    used: gate.taken,
    limit: inFlightMax,
  });
  const readinessSubscription = readiness?.onChange(followReadiness);
  followReadiness();
  await bus.nats.flush();

  return {
    async [Symbol.asyncDispose]() {
      readinessSubscription?.[Symbol.dispose]();
      slotMetrics[Symbol.dispose]();
      await stopListening();
      await gate.settle();
    },
  };
}

/** Subscribes to the requests for one endpoint. */
function subscribeToEndpoint(
  bus: Bus,
  served: ServedEndpoint,
  { owner, gate }: { owner: Component; gate: RequestGate },
): Subscription {
  const { subject, endpoint, logger } = served;
  const callersBySubject = new Map(
    endpoint.callers.map((caller) => [`${subject}.${accountOf(caller)}`, caller]),
  );
  return bus.nats.subscribe(`${subject}.*`, {
    queue: owner,
    callback: (failure, message) => {
      if (failure) {
        logger.error({ err: failure, subject }, 'subscription failed');
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
      const place = gate.enter(caller, () => message.data);
      if (place instanceof AppError) respondError(bus, message, place);
      else place.holdUntil(answerMessage(bus, message, { ...served, caller }));
    },
  });
}

async function answerMessage(
  bus: Bus,
  message: Msg,
  { caller, ...served }: ServedEndpoint & { readonly caller: Component },
): Promise<void> {
  const incoming = {
    caller,
    timeoutMs: Number(message.headers?.get(timeoutHeader)) || undefined,
    parent: propagation.extract(context.active(), message.headers, traceGetter),
    readJson: () => parseJson(message),
  };
  await runWithRequestId(message.headers?.get(requestIdHeader), () =>
    answerRequest(served, incoming, {
      reply: (response) => sendResponse(bus, message, response),
      refuse: (error, options) => respondError(bus, message, error, options),
    }),
  );
}

function sendResponse(bus: Bus, message: Msg, response: unknown): void {
  const body = JSON.stringify(response);
  if (Buffer.byteLength(body) > messageBytesMax) throw answerTooLargeError();
  sendReply(bus, message, { body });
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
