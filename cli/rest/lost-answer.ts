import { exitCodes } from '../exit-codes.ts';
import { Refusal } from '../refusal.ts';
import { quoteForShell } from '../words.ts';
import { GatewayRefusal } from './gateway-refusal.ts';

/** What of a request decides how it can be repeated. */
export interface SentRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The header that makes repeating a call safe (docs/reference/approvals.md#idempotency-keys). */
export const idempotencyHeader = 'idempotency-key';

/** After so many failures in a row, a command that runs until it is stopped gives up. */
export const failuresMax = 10;
const pauseMsMax = 30_000;

/** Codes of errors before the request is sent: the connection takes too long, or TLS is refused. */
const notSentPattern = /^UND_ERR_CONNECT_TIMEOUT$|CERT|_SIGNATURE$/;

/**
 * Whether an error of `fetch` shows that no byte of the request was sent, because no connection was
 * made. False if that is uncertain.
 */
export function isNotSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true;
  if (typeof code === 'string' && notSentPattern.test(code)) return true;
  // An AggregateError has an error for each address of the host.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.every(isNotSent);
  }
  return isNotSent(error.cause);
}

/**
 * The refusal for a request that was sent and whose answer is lost. A read can be repeated. For
 * anything else, the message says that it may have been done, and for a call with an idempotency
 * key how to repeat it safely.
 *
 * @param problem A sentence that says what happened.
 */
export function lostAnswer(problem: string, request: SentRequest, cause?: unknown): Refusal {
  const { method = 'GET', headers = {} } = request;
  if (method === 'GET') return new Refusal(problem, { cause, exitCode: exitCodes.unreachable });
  const key = headers[idempotencyHeader];
  const advice =
    key === undefined
      ? 'What was asked for may have been done: look before you repeat it.'
      : `The call may have been made. To repeat it safely, give the same command --idempotency-key ${quoteForShell(key)}.`;
  return new Refusal(`${problem} ${advice}`, { cause, exitCode: exitCodes.unknown });
}

/**
 * Whether an error means that the gateway does not answer at the moment, for example because it
 * restarts. A command that waits for something then asks again.
 */
export function isNoAnswer(error: unknown): boolean {
  if (!(error instanceof Refusal)) return false;
  const { exitCode } = error;
  if (error instanceof GatewayRefusal) return exitCode === exitCodes.unreachable;
  return exitCode === exitCodes.unreachable || exitCode === exitCodes.unknown;
}

/** The pause in milliseconds after so many failures in a row. */
export function pauseMsAfter(failures: number): number {
  return Math.min(pauseMsMax, 1_000 * 2 ** failures);
}
