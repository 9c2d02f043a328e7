import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { deadlineIn } from '#bus';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from '../domain/return-to.ts';
import { newSessionCookies, visitOf } from '../session-cookie.ts';
import { toAppError } from './error-handler.ts';
import { contextOf } from '../context.ts';
import { countPublic, refuseOtherMethods } from './routes.ts';
import { confirmPage, orgPage, refusalPage, signInPage, signedInPage } from './sign-in-pages.ts';
import type { SignInForm } from './sign-in-pages.ts';
import { passwordPages } from './sign-in-password.ts';
import { providerPages } from './sign-in-providers.ts';
import {
  countAttempts,
  findCaller,
  formBytesMax,
  orgOf,
  readForm,
  readQuery,
  refuseForeign,
  send,
} from './sign-in-steps.ts';

const tokenPattern = /^[A-Za-z0-9_-]{1,200}$/;
const emailCharactersMax = 320;
const passwordCharactersMax = 800;

/**
 * The pages on which people sign in: by e-mail address and password, by a provider, or by a
 * one-time link, of which opening shows a button and only pressing that uses the link up.
 * `return_to` travels through every step; the browser is sent there in the end. They work without
 * script, and only a form on them changes anything (docs/reference/identities.md#sign-in).
 */
export async function signInPages(app: FastifyInstance, deps: Deps): Promise<void> {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytesMax },
    (_request, body, next) => next(null, new URLSearchParams(body as string)),
  );
  app.setErrorHandler((thrown: unknown, request, reply) => showError(deps, request, reply, thrown));

  app.get('/sign-in', { onRequest: countPublic(deps) }, async (request, reply) => {
    const { token, returnTo, org } = readQuery(request);
    if (token !== undefined) return showLink(reply, { token, returnTo });
    const isAgain = (request.query as { again?: unknown }).again !== undefined;
    const caller = isAgain ? null : await findCaller(deps, request);
    if (caller !== null) {
      const name = caller.claims.chain.at(-1)?.name ?? '';
      return send(reply, signedInPage({ name, returnTo }), { returnTo });
    }
    return showSignIn(deps, reply, { form: { returnTo, org, email: '' } });
  });

  const counted = { bodyLimit: formBytesMax, onRequest: countAttempts(deps) };
  app.post('/sign-in', counted, async (request, reply) => {
    const form = readForm(request);
    const returnTo = parseReturnTo(form.get('return_to'));
    refuseForeign(deps, request);
    const token = form.get('token');
    if (token === null) return signInByPassword(deps, { request, reply, form, returnTo });
    if (!tokenPattern.test(token)) return showLink(reply, { token, returnTo });
    const opened = await deps.auth.signIn(
      { token, ...visitOf(deps.site(), request.headers), context: contextOf(request) },
      deadlineIn(5_000),
    );
    // Who was on the way to something goes on; else it is time to choose a password for next time.
    return reply
      .header('set-cookie', newSessionCookies(deps.site(), opened))
      .redirect(returnTo ?? '/sign-in/password', 303);
  });

  refuseOtherMethods(app, [
    { method: 'GET', url: '/sign-in' },
    { method: 'POST', url: '/sign-in' },
  ]);
  passwordPages(app, deps);
  providerPages(app, deps);
}

async function signInByPassword(
  deps: Deps,
  {
    request,
    reply,
    form,
    returnTo,
  }: {
    request: FastifyRequest;
    reply: FastifyReply;
    form: URLSearchParams;
    returnTo: string | null;
  },
): Promise<FastifyReply> {
  const email = (form.get('email') ?? '').slice(0, emailCharactersMax);
  const password = form.get('password') ?? '';
  const org = orgOf(form.get('org'));
  try {
    if (email === '' || password === '' || password.length > passwordCharactersMax) {
      throw new AppError('invalid_request', 'Enter your e-mail address and your password.');
    }
    const body = { email, password, ...(org === null ? {} : { org }) };
    const opened = await deps.auth.signInWithPassword(
      { body, ...visitOf(deps.site(), request.headers), context: contextOf(request) },
      deadlineIn(10_000),
    );
    return reply
      .header('set-cookie', newSessionCookies(deps.site(), opened))
      .redirect(returnTo ?? '/', 303);
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.code === 'internal') throw error;
    return showSignIn(deps, reply, { form: { returnTo, org, email }, error });
  }
}

async function showSignIn(
  deps: Deps,
  reply: FastifyReply,
  { form, error }: { form: SignInForm; error?: AppError },
): Promise<FastifyReply> {
  const { needsOrg, providers } = await deps.auth.listSignInOptions(
    { org: form.org },
    deadlineIn(3_000),
  );
  const { returnTo } = form;
  if (needsOrg) return send(reply, orgPage(returnTo), { returnTo, error });
  return send(reply, signInPage({ ...form, providers, problem: error?.message ?? null }), {
    returnTo,
    error,
  });
}

function showLink(
  reply: FastifyReply,
  { token, returnTo }: { token: string; returnTo: string | null },
): FastifyReply {
  if (tokenPattern.test(token)) return send(reply, confirmPage(token, returnTo), { returnTo });
  const message = 'The link is not complete. Open all of it, including what follows token=.';
  const error = new AppError('invalid_request', message);
  return send(reply, refusalPage('This is not a sign-in link', message, returnTo), {
    returnTo,
    error,
  });
}

/** What went wrong, for a person; the details are in the log under the request id. */
function showError(
  { logger }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): void {
  const error = toAppError(thrown);
  if (error.code === 'internal') {
    logger.error({ err: error.cause ?? error, requestId: request.id }, 'sign-in failed');
  }
  const form = readForm(request).get('return_to');
  const returnTo = parseReturnTo(error.details['return_to'] ?? form ?? readQuery(request).returnTo);
  const isLink = error.code === 'expired' && readForm(request).has('token');
  const title = isLink ? 'This link no longer works' : 'Signing in did not work';
  const message = isLink
    ? 'It was used already or is too old. Ask an admin for a new one; while no admin has a password, the gateway prints one when it starts.'
    : error.message;
  send(reply, refusalPage(title, message, returnTo), { returnTo, error });
}
