import type { signInRoutes } from '#contracts/http/sign-in';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { isForeignOrigin, buildSessionCookie } from '../authentication/domain/site.ts';
import { answer, answerNoContent, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';
import { buildNewSessionCookies, visitOf } from '../authentication/session-cookie.ts';

export function signInHandlers({
  auth,
  authenticator,
  site,
}: Deps): HandlersOf<typeof signInRoutes> {
  const dropCallersAfter = <T>(work: Promise<T>) => work.finally(() => authenticator.forget());
  return {
    async signIn({ body, headers, context, deadline }) {
      // Without this check, another site could sign a person in to an attacker's account.
      if (isForeignOrigin(site(), headers)) {
        throw new AppError('forbidden', 'Sign in on a page of the gateway itself.');
      }
      const visit = visitOf(site(), headers);
      const openedSession = await auth.signInWithPassword({ body, ...visit, context }, deadline);
      const cookies = buildNewSessionCookies(site(), openedSession);
      return {
        status: 204,
        body: undefined,
        headers: { 'set-cookie': cookies },
      };
    },
    listSessions: ({ caller: { principal }, query, deadline }) =>
      answer(200, auth.listSessions({ principal, page: pageRequestOf(query) }, deadline)),
    endOtherSessions: ({ caller: { principal }, context, deadline }) =>
      answerNoContent(dropCallersAfter(auth.endOtherSessions({ principal, context }, deadline))),
    async endSession({ caller: { principal, claims }, params: { id }, context, deadline }) {
      const answer = await answerNoContent(
        dropCallersAfter(auth.endSession({ principal, id, context }, deadline)),
      );
      if (claims.credential.id !== id) return answer;
      return { ...answer, headers: { 'set-cookie': buildSessionCookie(site(), '', 0) } };
    },
    listSignInProviders: ({ caller: { principal }, deadline }) =>
      answer(200, auth.listSignInProviders({ principal }, deadline)),
    getSignInProvider: ({ caller: { principal }, params: { key }, deadline }) =>
      answer(200, auth.getSignInProvider({ principal, key }, deadline)),
    putSignInProvider: ({ caller: { principal }, params: { key }, body, context, deadline }) =>
      answer(200, auth.putSignInProvider({ principal, key, body, context }, deadline)),
    deleteSignInProvider: ({ caller: { principal }, params: { key }, context, deadline }) =>
      answerNoContent(auth.deleteSignInProvider({ principal, key, context }, deadline)),
  };
}
