import { SpanKind, SpanStatusCode, context, propagation } from '@opentelemetry/api';
import {
  ClosedConnectionError,
  DrainingConnectionError,
  NoRespondersError,
  PermissionViolationError,
  TimeoutError,
  headers as createHeaders,
} from '@nats-io/transport-node';
import type { Msg } from '@nats-io/transport-node';
import type { z } from 'zod';

import { AppError, errorCodes, finalRefusal, isAskAgain, isErrorCode } from '#errors';
import type { ErrorCode, ErrorDetails } from '#errors';
import { withCritical } from '../contracts/critical.ts';
import { subjectOf } from '../contracts/define.ts';
import type { Contract, EndpointSpec } from '../contracts/define.ts';
import { readTolerantly } from '../contracts/tolerant.ts';
import { currentRequestId } from '../telemetry/request-id.ts';
import { startSpan } from '../telemetry/span.ts';
import { findLocalResponder } from './ask-locally.ts';
import { messageBytesMax, requestTooLargeError } from './answer.ts';
import type { Bus } from './connect.ts';
import { deadlineIn } from './deadline.ts';
import type { Deadline } from './deadline.ts';
import {
  errorCodeHeader,
  errorHeader,
  requestIdHeader,
  timeoutHeader,
  traceSetter,
  withoutDatabaseHeader,
} from './headers.ts';
import { createRepetitionBudget, sendUpToTwice } from './repetition.ts';
import type { RepetitionBudget } from './repetition.ts';
import { LostConnectionError } from './requests.ts';
import { rpcAttributesOf } from './rpc-attributes.ts';

export type Client<C extends Contract> = {
  readonly [Name in keyof C['endpoints']]: (
    request: z.input<C['endpoints'][Name]['request']>,
    deadline: Deadline,
  ) => Promise<z.output<C['endpoints'][Name]['response']>>;
};

/**
 * The most times that a request is sent while the replicas that receive it belong to a release that
 * cannot read it. If half of the replicas can read the request, one request in 4,096 reaches none
 * of them in twelve attempts.
 */
const attemptsMax = 12;
const sendsDespiteLossesMax = 4;

/** The errors after which the request may still have reached the other component. */
const possiblyReceivedErrors = [
  TimeoutError,
  LostConnectionError,
  ClosedConnectionError,
  DrainingConnectionError,
  PermissionViolationError,
];

/**
 * Creates a typed client of another component. Every method takes the deadline of the request that
 * the caller is serving. A request to a repeatable endpoint is sent a second time when it is not
 * answered within a second, because its replica may be dead. A method throws the other component's
 * AppError, or `unavailable` when no answer came in time (`details.lost` is true when the request may
 * have arrived).
 */
export function createClient<C extends Contract>(bus: Bus, contract: C): Client<C> {
  const budget = createRepetitionBudget();
  const methods = Object.entries(contract.endpoints).map(([name, endpoint]) => [
    name,
    (request: unknown, deadline: Deadline) =>
      callEndpoint(bus, { contract, name, endpoint }, { request, deadline, budget }),
  ]);
  return Object.fromEntries(methods) as Client<C>;
}

interface CalledEndpoint {
  readonly contract: Contract;
  readonly name: string;
  readonly endpoint: EndpointSpec;
}

async function callEndpoint(
  bus: Bus,
  { contract, name, endpoint }: CalledEndpoint,
  {
    request,
    deadline,
    budget,
  }: {
    request: unknown;
    deadline: Deadline;
    budget: RepetitionBudget;
  },
): Promise<unknown> {
  const subject = subjectOf(contract, name);
  const timeoutMs = Math.min(endpoint.timeoutMs, deadline.remainingMs());
  if (timeoutMs === 0) throw new AppError('unavailable', `No time left to call ${subject}.`);

  const attributes = rpcAttributesOf(`${contract.owner}.${name}`);
  return startSpan(subject, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    try {
      const askLocally = findLocalResponder(bus, { contract, name, endpoint }, request);
      const askBus = createBusRequest(bus, { subject, endpoint, request, budget });
      const askOnce = async (leftMs: number) => {
        const answer = await askLocally?.(leftMs);
        return answer === undefined ? askBus(leftMs) : answer.response;
      };
      return await askUntilRead(deadlineIn(timeoutMs), askOnce);
    } catch (thrown) {
      const error = toAppError(thrown, subject);
      span.setAttribute('error.type', error.code);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.code });
      throw error;
    } finally {
      span.end();
    }
  });
}

/**
 * Returns a function that sends requests over NATS, and throws the errors that the other component
 * answers.
 */
function createBusRequest(
  bus: Bus,
  {
    subject,
    endpoint,
    request,
    budget,
  }: { subject: string; endpoint: EndpointSpec; request: unknown; budget: RepetitionBudget },
): (leftMs: number) => Promise<unknown> {
  let body: string | undefined;
  const send = (withinMs: number) => {
    body ??= JSON.stringify(withCritical(endpoint.request, request));
    if (Buffer.byteLength(body) > messageBytesMax) throw requestTooLargeError(ownerOf(subject));
    const headers = createHeaders();
    propagation.inject(context.active(), headers, traceSetter);
    const requestId = currentRequestId();
    if (requestId !== undefined) headers.set(requestIdHeader, requestId);
    const onSend = (leftMs: number) => headers.set(timeoutHeader, String(leftMs));
    return bus.requests.request(subject, body, { timeoutMs: withinMs, headers, onSend });
  };
  const sendAgainAfterLoss = (withinMs: number) => sendDespiteLosses({ withinMs, budget, send });
  return async (leftMs) => {
    const reply = await (endpoint.repeatable === false
      ? send(leftMs)
      : sendUpToTwice({
          timeoutMs: leftMs,
          budget,
          send: sendAgainAfterLoss,
          isRefusal: isReplicaRefusal,
        }));
    throwIfError(reply);
    return parseAnswer(endpoint, reply);
  };
}

/**
 * Whether the reply only says that this replica could not serve the request, because it was full or
 * because a component that it depends on did not answer.
 */
function isReplicaRefusal({ headers }: Msg): boolean {
  const code = headers?.get(errorHeader);
  return code === 'unavailable' || code === 'rate_limited';
}

/**
 * Sends a repeatable request, and sends it again at once in two cases: the connection was lost, so
 * the answer cannot come any more, or the replica answered that it has lost its database. Such a
 * replica soon takes no more requests, and NATS chooses at random which replica gets the next one.
 */
async function sendDespiteLosses({
  withinMs,
  budget,
  send,
}: {
  withinMs: number;
  budget: RepetitionBudget;
  send: (withinMs: number) => Promise<Msg>;
}): Promise<Msg> {
  const deadline = deadlineIn(withinMs);
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await send(deadline.remainingMs()).catch((error: unknown) => {
      if (error instanceof LostConnectionError) return error;
      throw error;
    });
    const isLost = outcome instanceof LostConnectionError;
    const mayAnotherAnswer = isLost || outcome.headers?.has(withoutDatabaseHeader) === true;
    const isLast = attempt === sendsDespiteLossesMax || deadline.remainingMs() === 0;
    if (mayAnotherAnswer && !isLast && budget.spend()) continue;
    if (isLost) throw outcome;
    return outcome;
  }
}

/**
 * Sends the request again while the replicas that receive it belong to a release that cannot read
 * it. Such a replica has done nothing. NATS chooses the replica at random, so several attempts may
 * reach the same replica.
 */
async function askUntilRead(
  deadline: Deadline,
  askOnce: (leftMs: number) => Promise<unknown>,
): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await askOnce(deadline.remainingMs());
    } catch (error) {
      if (!isAskAgain(error)) throw error;
      if (attempt === attemptsMax || deadline.remainingMs() === 0) throw finalRefusal(error);
    }
  }
}

/**
 * Whether every caller only passes the endpoint's answers on to clients of the gateway, and takes
 * no decision by them.
 */
function areAnswersPassedOn({ callers }: EndpointSpec): boolean {
  return (
    callers.includes('gateway') &&
    callers.every((caller) => caller === 'gateway' || caller === 'executor')
  );
}

function parseAnswer(endpoint: EndpointSpec, reply: Msg): unknown {
  if (endpoint.hot) return reply.json();
  const unknownValues = areAnswersPassedOn(endpoint) ? 'pass' : 'refuse';
  const parsedResponse = readTolerantly(endpoint.response, reply.json(), unknownValues);
  if (!parsedResponse.success) throw parsedResponse.error;
  return parsedResponse.data;
}

function throwIfError(reply: Msg): void {
  if (!reply.headers?.has(errorHeader)) return;
  const { code, message, details } = reply.json<{
    code: unknown;
    message: string;
    details: ErrorDetails;
  }>();
  const status = Number(reply.headers.get(errorCodeHeader));
  throw new AppError(isErrorCode(code) ? code : errorCodeOf(status), message, { details });
}

/**
 * Replaces an error code that only a later release knows by the first known code with the same HTTP
 * status. An unknown code with a 5xx status becomes `internal`: 5xx codes tell callers whether a
 * call may be repeated, and a wrong code could cause a wrong repetition.
 */
function errorCodeOf(httpStatus: number): ErrorCode {
  const [known] = Object.entries(errorCodes).find(
    ([, { httpStatus: status }]) => status === httpStatus && status < 500,
  ) ?? ['internal'];
  return known as ErrorCode;
}

const ownerOf = (subject: string): string => subject.split('.')[1] ?? subject;

function toAppError(error: unknown, subject: string): AppError {
  if (error instanceof NoRespondersError) return unansweredError(subject, error, false);
  return possiblyReceivedErrors.some((kind) => error instanceof kind)
    ? unansweredError(subject, error, true)
    : AppError.from(error);
}

/**
 * `lost` says that the other component may have received the request. A call that may change
 * something then ends as `outcome_unknown`, and never as a failure that is safe to retry.
 */
function unansweredError(subject: string, cause: unknown, wasConnectionLost: boolean): AppError {
  const component = ownerOf(subject);
  return new AppError(
    'unavailable',
    `The ${component} component did not answer. Nothing was sent on your behalf; try again shortly.`,
    { cause, details: { component, lost: wasConnectionLost } },
  );
}
