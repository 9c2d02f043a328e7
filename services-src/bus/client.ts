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

import { AppError, isErrorCode } from '#errors';
import type { ErrorDetails } from '#errors';
import { subjectOf } from '../contracts/define.ts';
import type { Contract, EndpointSpec } from '../contracts/define.ts';
import { startSpan } from '../telemetry/span.ts';
import type { Bus } from './connect.ts';
import type { Deadline } from './deadline.ts';
import { errorHeader, timeoutHeader, traceSetter } from './headers.ts';

export type Client<C extends Contract> = {
  readonly [Name in keyof C['endpoints']]: (
    request: z.input<C['endpoints'][Name]['request']>,
    deadline: Deadline,
  ) => Promise<z.output<C['endpoints'][Name]['response']>>;
};

/** After these the request may have been received all the same. */
const lost = [
  TimeoutError,
  ClosedConnectionError,
  DrainingConnectionError,
  PermissionViolationError,
];

/**
 * A typed caller for another component. Every method takes the deadline of the request it
 * serves, and throws the responder's AppError, or `unavailable` when nobody answered in time
 * (`details.lost` is true when the request may have arrived).
 */
export function createClient<C extends Contract>(bus: Bus, contract: C): Client<C> {
  const methods = Object.entries(contract.endpoints).map(([name, endpoint]) => [
    name,
    (request: unknown, deadline: Deadline) =>
      call(bus, subjectOf(contract, name), { endpoint, request, deadline }),
  ]);
  return Object.fromEntries(methods) as Client<C>;
}

async function call(
  bus: Bus,
  subject: string,
  { endpoint, request, deadline }: { endpoint: EndpointSpec; request: unknown; deadline: Deadline },
): Promise<unknown> {
  const timeoutMs = Math.min(endpoint.timeoutMs, deadline.remainingMs());
  if (timeoutMs === 0) throw new AppError('unavailable', `No time left to call ${subject}.`);

  return startSpan(subject, { kind: SpanKind.CLIENT }, async (span) => {
    try {
      const headers = createHeaders();
      headers.set(timeoutHeader, String(timeoutMs));
      propagation.inject(context.active(), headers, traceSetter);

      const reply = await bus.requests.request(subject, JSON.stringify(request), {
        timeoutMs,
        headers,
      });
      throwIfError(reply);
      return endpoint.hot ? reply.json() : endpoint.response.parse(reply.json());
    } catch (thrown) {
      const error = fromTransport(thrown, subject);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.code });
      throw error;
    } finally {
      span.end();
    }
  });
}

function throwIfError(reply: Msg): void {
  if (!reply.headers?.has(errorHeader)) return;
  const { code, message, details } = reply.json<{
    code: unknown;
    message: string;
    details: ErrorDetails;
  }>();
  throw new AppError(isErrorCode(code) ? code : 'internal', message, { details });
}

function fromTransport(thrown: unknown, subject: string): AppError {
  if (thrown instanceof NoRespondersError) return unanswered(subject, thrown, false);
  return lost.some((kind) => thrown instanceof kind)
    ? unanswered(subject, thrown, true)
    : AppError.from(thrown);
}

/** `lost`: the request may have been received. A non-read then ends as `outcome_unknown`, never as a safe retry. */
function unanswered(subject: string, cause: unknown, lost: boolean): AppError {
  const component = subject.split('.')[1] ?? subject;
  return new AppError(
    'unavailable',
    `The ${component} component did not answer. Nothing was sent on your behalf; try again shortly.`,
    { cause, details: { component, lost } },
  );
}
