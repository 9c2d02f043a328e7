import type { FastifyReply, FastifyRequest } from 'fastify';

import { AppError, errorCodes } from '#errors';
import { showPage } from '#pages';
import type { Page } from '#pages';
import { readCookieSession } from '../authentication/read-credential.ts';
import type { Caller } from '../authentication/caller.ts';
import type { Deps } from '../deps.ts';
import { formTargetsOf, parseReturnTo } from './domain/return-to.ts';
import { isForeignOrigin } from '../authentication/domain/site.ts';
import { toAppError } from '../http/error-handler.ts';
import { applyRateLimit } from '../http/admit-request.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Additional schemes that the redirect URIs of OAuth clients may have. */
    redirectSchemes: ReadonlySet<string>;
  }
}

const orgCharactersMax = 200;

/** Sends a page. If there is an error, the page has the status of the error. */
export function sendPage(
  reply: FastifyReply,
  page: Page,
  { returnTo, error }: { returnTo: string | null; error?: AppError | undefined },
): FastifyReply {
  const seconds = error?.details['retry_after'];
  if (typeof seconds === 'number') void reply.header('retry-after', String(seconds));
  return showPage(
    reply.code(statusOf(error)),
    page,
    formTargetsOf(returnTo, reply.server.redirectSchemes),
  );
}

function statusOf(error: AppError | undefined): number {
  if (error === undefined) return 200;
  if (error.details['edge'] === 'method_not_allowed') return 405;
  return errorCodes[error.code].httpStatus;
}

/** The size limit of every form on these pages. */
export const formBytesMax = 16_384;

/**
 * Counts the sign-in attempts of a client address (setting RATE_SIGN_IN_PER_MINUTE) before the
 * request is read. All ways to sign in count together.
 */
export function createAttemptCounter({ rates }: Deps) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    applyRateLimit(reply, rates.countSignIn(request.ip));
  };
}

/**
 * Refuses requests from other sites. Otherwise such a site could sign a person in to an attacker's
 * account.
 */
export function refuseForeignOrigin(deps: Deps, request: FastifyRequest): void {
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
    /** A parameter that is given several times is treated like an invalid token. */
    token: token === undefined || typeof token === 'string' ? token : '',
    returnTo: parseReturnTo(returnTo),
    org: parseOrgName(org),
  };
}

/** Returns the name of the org, or null if the text cannot be the name of an org. */
export function parseOrgName(orgInput: unknown): string | null {
  const isName =
    typeof orgInput === 'string' && orgInput !== '' && orgInput.length <= orgCharactersMax;
  return isName ? orgInput : null;
}

/**
 * Returns the caller of the session cookie, or null if nobody is signed in. Only for pages that
 * change nothing.
 */
export async function findCaller(
  deps: Pick<Deps, 'authenticator' | 'site'>,
  { headers }: FastifyRequest,
): Promise<Caller | null> {
  const credential = readCookieSession(deps.site(), headers);
  if (credential === null) return null;
  try {
    return await deps.authenticator.authenticate(credential);
  } catch (error) {
    if (['unauthenticated', 'identity_archived'].includes(toAppError(error).code)) return null;
    throw error;
  }
}
