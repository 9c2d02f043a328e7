import { SpanKind, SpanStatusCode, context, propagation } from '@opentelemetry/api';
import { headers as createHeaders } from '@nats-io/transport-node';
import type { Msg, MsgHdrs } from '@nats-io/transport-node';
import { z } from 'zod';

import { AppError, errorCodes } from '#errors';
import { subjectOf } from '../contracts/define.ts';
import type { Contract, EndpointSpec } from '../contracts/define.ts';
import type { Component } from '../contracts/vocabulary.ts';
import { overShare } from '../shares/index.ts';
import type { CallerLevel } from '../shares/index.ts';
import type { Logger } from '../telemetry/logger.ts';
import { startSpan } from '../telemetry/span.ts';
import { accountOf } from './accounts.ts';
import type { Bus } from './connect.ts';
import { deadlineIn } from './deadline.ts';
import type { Deadline } from './deadline.ts';
import { createInHand } from './in-hand.ts';
import { errorCodeHeader, errorHeader, timeoutHeader, traceGetter } from './headers.ts';

export type Handlers<C extends Contract> = {
  readonly [Name in keyof C['endpoints']]: (
    request: z.output<C['endpoints'][Name]['request']>,
    deadline: Deadline,
    /** Who asks, as the server says. */
    caller: Component,
  ) => Promise<z.input<C['endpoints'][Name]['response']>>;
};

type AnyHandler = (request: unknown, deadline: Deadline, caller: Component) => Promise<unknown>;

interface Serving {
  readonly logger: Logger;
  /** Requests in hand at most, shared out by who asks; one more is refused at once. */
  readonly inFlightMax?: number;
}

/** NATS refuses a larger message, so a larger reply becomes a typed error instead of silence. */
const replyBytesMax = 4 * 1024 * 1024 - 4096;

/**
 * What the server puts in place of the requester's reply subject when a request passes from one
 * account to another. Under any other reply subject the caller is unknown.
 */
const importedReply = '_R_.';

/**
 * Answers a contract's endpoints until disposed, when it stops listening and finishes the
 * requests in hand. A request is heard under the endpoint's subject with the caller's account as
 * its last token, which the server appends; callers that the contract does not name are refused,
 * whatever the server's configuration lets through. Resolves when the server knows the subscriptions: from then on nobody is
 * told that nobody listens.
 */
export async function serve<C extends Contract>(
  bus: Bus,
  contract: C,
  handlers: Handlers<C>,
  { logger, inFlightMax = 1024 }: Serving,
): Promise<AsyncDisposable> {
  const inFlight = new Set<Promise<void>>();
  const inHand = createInHand(inFlightMax);
  const subscriptions = Object.entries(contract.endpoints).map(([name, specified]) => {
    const endpoint = { ...specified, request: z.compile(specified.request) };
    const subject = subjectOf(contract, name);
    const callers = new Map(
      endpoint.callers.map((caller) => [`${subject}.${accountOf(caller)}`, caller]),
    );
    return bus.nats.subscribe(`${subject}.*`, {
      queue: contract.owner,
      callback: (failure, message) => {
        if (failure) {
          logger.error({ err: failure, endpoint: name }, 'subscription failed');
          return;
        }
        const caller = callers.get(message.subject);
        if (message.reply?.startsWith(importedReply) !== true) {
          // Not answered: the reply subject may be anybody's.
          logger.error({ subject: message.subject }, 'request did not come through an import');
          return;
        }
        if (caller === undefined) {
          logger.error({ subject: message.subject }, 'caller is not named in the contract');
          respondError(bus, message, new AppError('forbidden', `${subject} is not for you.`));
          return;
        }
        const held = inHand.take(message, caller);
        if (typeof held === 'string') {
          respondError(bus, message, noRoom(contract.owner, held));
          return;
        }
        const handler = (handlers as Record<string, AnyHandler>)[name] as AnyHandler;
        const answered = answer(message, endpoint, { bus, handler, logger, subject, caller });
        inFlight.add(answered);
        void answered.finally(() => {
          inFlight.delete(answered);
          held[Symbol.dispose]();
        });
      },
    });
  });
  await bus.nats.flush();

  return {
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(subscriptions.map((subscription) => subscription.drain()));
      await Promise.allSettled(inFlight);
    },
  };
}

function noRoom(component: Component, whose: CallerLevel | 'pool'): AppError {
  if (whose !== 'pool') return overShare(whose, { what: 'requests', component });
  return new AppError('unavailable', `The ${component} component is busy.`, {
    details: { component, busy: true },
  });
}

interface Asked {
  readonly bus: Bus;
  readonly handler: AnyHandler;
  readonly logger: Logger;
  /** The endpoint's, without the caller. */
  readonly subject: string;
  readonly caller: Component;
}

/** Never rejects: every outcome, foreseen or not, becomes a reply. */
async function answer(
  message: Msg,
  endpoint: EndpointSpec,
  { bus, handler, logger, subject, caller }: Asked,
): Promise<void> {
  const parent = propagation.extract(context.active(), message.headers, traceGetter);
  await startSpan(subject, { kind: SpanKind.SERVER, parent }, async (span) => {
    try {
      const timeoutMs = Number(message.headers?.get(timeoutHeader)) || endpoint.timeoutMs;
      const request = parseRequest(endpoint, message);
      const deadline = deadlineIn(Math.min(timeoutMs, endpoint.timeoutMs));
      const response = await handler(request, deadline, caller);
      respond(bus, message, endpoint.hot ? response : endpoint.response.parse(response));
    } catch (thrown) {
      const error = AppError.from(thrown);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.code });
      if (error.code === 'internal') {
        logger.error({ err: error.cause ?? error, subject, caller }, 'request failed');
      }
      respondError(bus, message, error);
    } finally {
      span.end();
    }
  });
}

function respond(bus: Bus, message: Msg, response: unknown): void {
  const body = JSON.stringify(response);
  if (Buffer.byteLength(body) > replyBytesMax) {
    throw new AppError('too_large', 'The answer is too large to return; ask for less of it.');
  }
  reply(bus, message, { body });
}

function parseRequest(endpoint: EndpointSpec, message: Msg): unknown {
  const parsed = endpoint.request.safeParse(parseJson(message));
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, 20).map((issue) => ({
    path: issue.path.join('.'),
    message: issue.message,
  }));
  throw new AppError('invalid_request', 'The request does not match the contract.', {
    details: { issues },
  });
}

function parseJson(message: Msg): unknown {
  try {
    return message.json();
  } catch (cause) {
    throw new AppError('invalid_request', 'The request is not JSON.', { cause });
  }
}

function respondError(bus: Bus, message: Msg, error: AppError): void {
  const headers = createHeaders();
  // Header values are one line; the full text is in the body.
  headers.set(errorHeader, error.code);
  headers.set(errorCodeHeader, String(errorCodes[error.code].httpStatus));
  const { code, message: text, details } = error;
  reply(bus, message, { body: JSON.stringify({ code, message: text, details }), headers });
}

/** Without a connection nobody can be told; whoever asked has a deadline. */
function reply(
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
