import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { deadlineIn } from '#bus';
import { AppError } from '#errors';
import type { Caller } from '../authentication/caller.ts';
import type { Deps } from '../deps.ts';
import { parseReturnTo } from './domain/return-to.ts';
import { buildNewSessionCookies, visitOf } from '../authentication/session-cookie.ts';
import { toAppError } from '../http/error-handler.ts';
import { contextOf } from '../records/request-context.ts';
import { countPublicRequest } from '../http/admit-request.ts';
import { refuseOtherMethods } from '../http/refuse-other-methods.ts';
import {
  renderConfirmPage,
  renderOrgPage,
  renderRefusal,
  renderSignIn,
  renderSignedIn,
  withQuery,
} from './sign-in-html.ts';
import type { SignInForm } from './sign-in-html.ts';
import { servePasswordPages } from './sign-in-password.ts';
import { serveProviderPages } from './sign-in-providers.ts';
import {
  createAttemptCounter,
  findCaller,
  formBytesMax,
  parseOrgName,
  readForm,
  readQuery,
  refuseForeignOrigin,
  sendPage,
} from './sign-in-steps.ts';
import { findWantedPage, forgetWantedPageCookie, rememberWantedPage } from './wanted-page.ts';

const tokenPattern = /^[A-Za-z0-9_-]{1,200}$/;
const deadLinkTitle = 'This link no longer works';
const deadLinkMessage =
  'It was used already or is too old. If you have a password, sign in with it; otherwise ask an admin for a new link. While no admin has a password, the gateway prints a link in its terminal when it starts.';
const emailCharactersMax = 320;
const passwordCharactersMax = 800;

/**
 * Serves the sign-in pages. People sign in with e-mail address and password, through a provider, or
 * with a one-time link, which is used up only when its button is pressed. Every step keeps
 * `return_to`, the page to which the browser is sent at the end. The pages work without JavaScript,
 * and only their forms change anything (docs/reference/identities.md#sign-in).
 */
export async function serveSignInPages(app: FastifyInstance, deps: Deps): Promise<void> {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytesMax },
    (_request, body, next) => next(null, new URLSearchParams(body as string)),
  );
  app.setErrorHandler((error: unknown, request, reply) => showError(deps, request, reply, error));

  app.get('/sign-in', { onRequest: countPublicRequest(deps) }, async (request, reply) => {
    const { token, returnTo, org } = readQuery(request);
    if (token !== undefined) return showLink(deps, { request, reply, token, returnTo });
    const isAgain = (request.query as { again?: unknown }).again !== undefined;
    const caller = isAgain ? null : await findCaller(deps, request);
    if (caller !== null) return showSignedIn(reply, caller, returnTo);
    rememberWantedPage(deps, reply, returnTo);
    return showSignIn(deps, reply, { form: { returnTo, org, email: '' } });
  });

  const countedRoute = { bodyLimit: formBytesMax, onRequest: createAttemptCounter(deps) };
  app.post('/sign-in', countedRoute, async (request, reply) => {
    const form = readForm(request);
    const returnTo = parseReturnTo(form.get('return_to'));
    refuseForeignOrigin(deps, request);
    const token = form.get('token');
    if (token === null) return signInByPassword(deps, { request, reply, form, returnTo });
    if (!tokenPattern.test(token)) return showConfirmPage(reply, { token, returnTo });
    const openedSession = await deps.auth.signIn(
      { token, ...visitOf(deps.site(), request.headers), context: contextOf(request) },
      deadlineIn(5_000),
    );
    // The person is first invited to choose a password for the next sign-in. Then follows the page
    // that was opened before in this browser.
    return reply
      .header('set-cookie', [
        ...buildNewSessionCookies(deps.site(), openedSession),
        forgetWantedPageCookie(deps),
      ])
      .redirect(
        returnTo ?? withQuery('/sign-in/password', { return_to: findWantedPage(deps, request) }),
        303,
      );
  });

  refuseOtherMethods(app, [
    { method: 'GET', url: '/sign-in' },
    { method: 'POST', url: '/sign-in' },
  ]);
  servePasswordPages(app, deps);
  serveProviderPages(app, deps);
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
  const org = parseOrgName(form.get('org'));
  try {
    if (email === '' || password === '' || password.length > passwordCharactersMax) {
      throw new AppError('invalid_request', 'Enter your e-mail address and your password.');
    }
    const body = { email, password, ...(org === null ? {} : { org }) };
    const openedSession = await deps.auth.signInWithPassword(
      { body, ...visitOf(deps.site(), request.headers), context: contextOf(request) },
      deadlineIn(10_000),
    );
    return reply
      .header('set-cookie', [
        ...buildNewSessionCookies(deps.site(), openedSession),
        forgetWantedPageCookie(deps),
      ])
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
  if (needsOrg) return sendPage(reply, renderOrgPage(returnTo), { returnTo, error });
  return sendPage(reply, renderSignIn({ ...form, providers, problem: error?.message ?? null }), {
    returnTo,
    error,
  });
}

/**
 * Shows what a one-time link is for, or at once that it no longer works. A person who opens a spent
 * link but is already signed in is told so instead.
 */
async function showLink(
  deps: Deps,
  {
    request,
    reply,
    token,
    returnTo,
  }: { request: FastifyRequest; reply: FastifyReply; token: string; returnTo: string | null },
): Promise<FastifyReply> {
  if (!tokenPattern.test(token) || (await mayWork(deps, token))) {
    return showConfirmPage(reply, { token, returnTo });
  }
  const caller = await findCaller(deps, request);
  if (caller !== null) return showSignedIn(reply, caller, returnTo);
  const error = new AppError('expired', deadLinkMessage);
  return sendPage(reply, renderRefusal(deadLinkTitle, deadLinkMessage, returnTo), {
    returnTo,
    error,
  });
}

/** Also true if auth does not answer. Pressing the button will then show whether the link works. */
async function mayWork({ auth }: Deps, token: string): Promise<boolean> {
  try {
    return (await auth.checkSignInLink({ token }, deadlineIn(2_000))).works;
  } catch {
    return true;
  }
}

function showSignedIn(
  reply: FastifyReply,
  { claims }: Caller,
  returnTo: string | null,
): FastifyReply {
  const name = claims.chain.at(-1)?.name ?? '';
  return sendPage(reply, renderSignedIn({ name, returnTo }), { returnTo });
}

function showConfirmPage(
  reply: FastifyReply,
  { token, returnTo }: { token: string; returnTo: string | null },
): FastifyReply {
  if (tokenPattern.test(token))
    return sendPage(reply, renderConfirmPage(token, returnTo), { returnTo });
  const message = 'The link is not complete. Open all of it, including what follows token=.';
  const error = new AppError('invalid_request', message);
  return sendPage(reply, renderRefusal('This is not a sign-in link', message, returnTo), {
    returnTo,
    error,
  });
}

/** Shows the error to a person. Details of an internal error are logged under the request id. */
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
  const title = isLink ? deadLinkTitle : 'Signing in did not work';
  const message = isLink ? deadLinkMessage : error.message;
  sendPage(reply, renderRefusal(title, message, returnTo), { returnTo, error });
}
