import type { FastifyReply, FastifyRequest } from 'fastify';

import { AppError, errorCodes } from '#errors';
import { pageHeaders } from '#pages';
import { readCookieSession } from '../authenticate.ts';
import type { Caller } from '../authenticate.ts';
import type { Deps } from '../deps.ts';
import { formTargetsOf, parseReturnTo } from '../domain/return-to.ts';
import { isForeignOrigin } from '../domain/site.ts';
import { toAppError } from './error-handler.ts';
import { admit } from './routes.ts';

const orgCharactersMax = 200;

/** Sends a page; with an error, under its status. */
export function send(
  reply: FastifyReply,
  html: string,
  { returnTo, error }: { returnTo: string | null; error?: AppError | undefined },
): FastifyReply {
  const seconds = error?.details['retry_after'];
  if (typeof seconds === 'number') void reply.header('retry-after', String(seconds));
  return reply
    .code(statusOf(error))
    .headers(pageHeaders(formTargetsOf(returnTo)))
    .send(html);
}

function statusOf(error: AppError | undefined): number {
  if (error === undefined) return 200;
  if (error.details['edge'] === 'method_not_allowed') return 405;
  return errorCodes[error.code].httpStatus;
}

/** Of every form of these pages. */
export const formBytesMax = 16_384;

/**
 * Counts sign-in attempts of one address, whatever they are made with (settings:
 * RATE_SIGN_IN_PER_MINUTE), before anything of the request is read.
 */
export function countAttempts({ rates }: Deps) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    admit(reply, rates.ofSignIn(request.ip));
  };
}

/** Somebody else's page must not sign a person in as somebody else. */
export function refuseForeign(deps: Deps, request: FastifyRequest): void {
  if (!isForeignOrigin(deps.site(), request.headers)) return;
  throw new AppError(
    'forbidden',
    'Open the page of the gateway itself and press the button there.',
  );
}

export function readForm({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

export function readQuery(request: FastifyRequest) {
  const { token, return_to: returnTo, org } = request.query as Record<string, unknown>;
  return {
    /** Anything but text is a token that is none. */
    token: token === undefined || typeof token === 'string' ? token : '',
    returnTo: parseReturnTo(returnTo),
    org: orgOf(org),
  };
}

/** The name of an org, as far as it can be one. */
export function orgOf(given: unknown): string | null {
  const isName = typeof given === 'string' && given !== '' && given.length <= orgCharactersMax;
  return isName ? given : null;
}

/** Who is signed in by a cookie; null for everybody else. For pages that only look. */
export async function findCaller(
  deps: Pick<Deps, 'authenticator' | 'site'>,
  { headers }: FastifyRequest,
): Promise<Caller | null> {
  const credential = readCookieSession(deps.site(), headers);
  if (credential === null) return null;
  try {
    return await deps.authenticator.authenticate(credential);
  } catch (thrown) {
    if (['unauthenticated', 'identity_archived'].includes(toAppError(thrown).code)) return null;
    throw thrown;
  }
}
