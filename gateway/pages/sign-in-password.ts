import type { FastifyInstance, FastifyReply } from 'fastify';

import { deadlineIn } from '#bus';
import { emailAddress } from '#contracts/http/users';
import { AppError } from '#errors';
import { readCredential } from '../authentication/read-credential.ts';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from './domain/return-to.ts';
import { toAppError } from '../http/error-handler.ts';
import { contextOf } from '../records/request-context.ts';
import { countPublicRequest } from '../http/admit-request.ts';
import { refuseOtherMethods } from '../http/refuse-other-methods.ts';
import { renderPasswordPage, renderRefusal, withQuery } from './sign-in-html.ts';
import {
  createAttemptCounter,
  findCaller,
  formBytesMax,
  readForm,
  readQuery,
  sendPage,
} from './sign-in-steps.ts';

const passwordPagePath = '/sign-in/password';
const passwordCharactersMax = 800;
/** Errors that the person can correct in the form. */
const correctableErrors = new Set(['invalid_params', 'forbidden', 'conflict', 'rate_limited']);

/**
 * Serves `/sign-in/password`, where the signed-in person sets a password. This step may be skipped.
 */
export function servePasswordPages(app: FastifyInstance, deps: Deps): void {
  app.get(passwordPagePath, { onRequest: countPublicRequest(deps) }, async (request, reply) => {
    const { returnTo } = readQuery(request);
    const caller = await findCaller(deps, request);
    if (caller === null) return redirectToSignIn(reply, returnTo);
    return showForm(deps, reply, { principal: caller.principal, returnTo });
  });

  const countedRoute = { bodyLimit: formBytesMax, onRequest: createAttemptCounter(deps) };
  app.post(passwordPagePath, countedRoute, async (request, reply) => {
    const form = readForm(request);
    const returnTo = parseReturnTo(form.get('return_to'));
    // Only the cookie is accepted. readCredential therefore requires that the request comes from a
    // page of the gateway itself.
    const credential = readCredential(deps.site(), {
      method: 'POST',
      headers: { ...request.headers, authorization: undefined },
    });
    const { principal } = await deps.authenticator.authenticate(credential);
    try {
      const { current, password, email } = readFields(form);
      await deps.auth.setPassword(
        { principal, context: contextOf(request), email, current, password },
        deadlineIn(10_000),
      );
      deps.authenticator.forget();
      return reply.redirect(returnTo ?? '/', 303);
    } catch (thrown) {
      const error = toAppError(thrown);
      if (!correctableErrors.has(error.code)) throw error;
      const typedEmail = form.get('email') ?? '';
      return showForm(deps, reply, { principal, returnTo, typedEmail, error });
    }
  });

  refuseOtherMethods(app, [
    { method: 'GET', url: passwordPagePath },
    { method: 'POST', url: passwordPagePath },
  ]);
}

async function showForm(
  deps: Deps,
  reply: FastifyReply,
  {
    principal,
    returnTo,
    typedEmail = '',
    error,
  }: { principal: string; returnTo: string | null; typedEmail?: string; error?: AppError },
): Promise<FastifyReply> {
  const passwordStatus = await deps.auth.describePassword({ principal }, deadlineIn(3_000));
  if (!passwordStatus.possible) {
    const message =
      'To set a password, ask an admin of your gateway for a sign-in link and open it first.';
    return sendPage(reply, renderRefusal('There is no password to change', message, returnTo), {
      returnTo,
      error: new AppError('forbidden', message),
    });
  }
  const problem = error?.message ?? null;
  return sendPage(reply, renderPasswordPage({ ...passwordStatus, returnTo, typedEmail, problem }), {
    returnTo,
    error,
  });
}

function readFields(form: URLSearchParams) {
  const password = form.get('password') ?? '';
  const currentPassword = form.get('current');
  const email = form.get('email');
  if (email !== null && !emailAddress.safeParse(email).success) {
    throw new AppError('invalid_params', 'This is not an e-mail address; check how it is written.');
  }
  if (
    password.length > passwordCharactersMax ||
    (currentPassword ?? '').length > passwordCharactersMax
  ) {
    throw new AppError('invalid_params', 'The password is too long: use at most 200 characters.');
  }
  return { password, email, current: currentPassword === '' ? null : currentPassword };
}

function redirectToSignIn(reply: FastifyReply, returnTo: string | null): FastifyReply {
  const passwordPageUrl = withQuery(passwordPagePath, { return_to: returnTo });
  return reply.redirect(withQuery('/sign-in', { return_to: passwordPageUrl }), 303);
}
