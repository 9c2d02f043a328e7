import type { userRoutes } from '#contracts/http/users';
import type { Deps } from '../deps.ts';
import { answer, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function userHandlers({ auth, authenticator }: Deps): HandlersOf<typeof userRoutes> {
  return {
    listUsers: ({ caller: { principal }, query, deadline }) =>
      answer(200, auth.listUsers({ principal, page: pageRequestOf(query) }, deadline)),
    createUser: ({ caller: { principal }, body, context, deadline }) =>
      answer(201, auth.createUser({ principal, body, context }, deadline)),
    inviteUser: ({ caller: { principal }, body, context, deadline }) =>
      answer(201, auth.inviteUser({ principal, body, context }, deadline)),
    changeUser: ({ caller: { principal }, params: { id }, body, context, deadline }) =>
      // Drops cached callers of this replica after the change. Other replicas drop theirs when
      // auth's event arrives.
      answer(
        200,
        auth
          .changeUser({ principal, id, body, context }, deadline)
          .finally(() => authenticator.forget()),
      ),
    createSignInLink: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(201, auth.createSignInLink({ principal, id, context }, deadline)),
    getOrg: ({ caller: { principal }, deadline }) =>
      answer(200, auth.getOrg({ principal }, deadline)),
    changeOrg: ({ caller: { principal }, body, context, deadline }) =>
      answer(
        200,
        // If the time that a session may be unused became shorter, sessions may have ended.
        auth
          .changeOrg({ principal, body, context }, deadline)
          .finally(() => authenticator.forget()),
      ),
  };
}
