import type { FastifyInstance, FastifyReply } from 'fastify';

import { deadlineIn } from '#bus';
import { emailAddress } from '#contracts/http/users';
import { AppError } from '#errors';
import { readCredential } from '../authenticate.ts';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from '../domain/return-to.ts';
import { toAppError } from './error-handler.ts';
import { contextOf } from '../context.ts';
import { countPublic, refuseOtherMethods } from './routes.ts';
import { passwordPage, refusalPage, withQuery } from './sign-in-pages.ts';
import {
  countAttempts,
  findCaller,
  formBytesMax,
  readForm,
  readQuery,
  send,
} from './sign-in-steps.ts';

const url = '/sign-in/password';
const passwordCharactersMax = 800;
/** What the form can be corrected for, as opposed to a session that is gone. */
const correctable = new Set(['invalid_params', 'forbidden', 'conflict', 'rate_limited']);

/** `/sign-in/password`: sets the password of who is signed in. It can be skipped, and come back to. */
export function passwordPages(app: FastifyInstance, deps: Deps): void {
  app.get(url, { onRequest: countPublic(deps) }, async (request, reply) => {
    const { returnTo } = readQuery(request);
    const caller = await findCaller(deps, request);
    if (caller === null) return redirectToSignIn(reply, returnTo);
    return showForm(deps, reply, { principal: caller.principal, returnTo });
  });

  const counted = { bodyLimit: formBytesMax, onRequest: countAttempts(deps) };
  app.post(url, counted, async (request, reply) => {
    const form = readForm(request);
    const returnTo = parseReturnTo(form.get('return_to'));
    // With the cookie, this must come from our own pages.
    const credential = readCredential(deps.site(), {
      method: 'POST',
      headers: { ...request.headers, authorization: undefined },
    });
    const { principal } = await deps.authenticator.authenticate(credential);
    try {
      const { current, password, email } = readFields(form);
      const change = { principal, context: contextOf(request) };
      await deps.auth.setPassword({ ...change, email, current, password }, deadlineIn(10_000));
      deps.authenticator.forget();
      return reply.redirect(returnTo ?? '/', 303);
    } catch (thrown) {
      const error = toAppError(thrown);
      if (!correctable.has(error.code)) throw error;
      const typedEmail = form.get('email') ?? '';
      return showForm(deps, reply, { principal, returnTo, typedEmail, error });
    }
  });

  refuseOtherMethods(app, [
    { method: 'GET', url },
    { method: 'POST', url },
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
  const found = await deps.auth.describePassword({ principal }, deadlineIn(3_000));
  if (!found.possible) {
    const message =
      'To set a password, ask an admin of your gateway for a sign-in link and open it first.';
    return send(reply, refusalPage('There is no password to change', message, returnTo), {
      returnTo,
      error: new AppError('forbidden', message),
    });
  }
  const problem = error?.message ?? null;
  return send(reply, passwordPage({ ...found, returnTo, typedEmail, problem }), {
    returnTo,
    error,
  });
}

function readFields(form: URLSearchParams) {
  const password = form.get('password') ?? '';
  const current = form.get('current');
  const email = form.get('email');
  if (email !== null && !emailAddress.safeParse(email).success) {
    throw new AppError('invalid_params', 'This is not an e-mail address; check how it is written.');
  }
  if (password.length > passwordCharactersMax || (current ?? '').length > passwordCharactersMax) {
    throw new AppError('invalid_params', 'The password is too long: use at most 200 characters.');
  }
  return { password, email, current: current === '' ? null : current };
}

function redirectToSignIn(reply: FastifyReply, returnTo: string | null): FastifyReply {
  const back = withQuery(url, { return_to: returnTo });
  return reply.redirect(withQuery('/sign-in', { return_to: back }), 303);
}
