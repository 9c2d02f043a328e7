import type { identityRoutes } from '#contracts/http/identities';
import type { Deps } from '../deps.ts';
import { buildSessionCookie } from '../authentication/domain/site.ts';
import { answer, answerNoContent, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function identityHandlers({
  auth,
  authenticator,
  site,
}: Deps): HandlersOf<typeof identityRoutes> {
  /**
   * Drops cached callers of this replica after the change. Other replicas drop theirs when auth's
   * event arrives.
   */
  const dropCallersAfter = <T>(work: Promise<T>) => work.finally(() => authenticator.forget());
  return {
    getMe: ({ caller: { principal }, deadline }) =>
      answer(200, auth.getMe({ principal }, deadline)),
    listIdentities: ({ caller: { principal }, query, deadline }) =>
      answer(200, auth.listIdentities({ principal, page: pageRequestOf(query) }, deadline)),
    getIdentity: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, auth.getIdentity({ principal, id }, deadline)),
    createAgent: ({ caller: { principal }, body, context, deadline }) =>
      answer(201, auth.createAgent({ principal, body, context }, deadline)),
    createSubagent: ({ caller: { principal }, body, context, deadline }) =>
      answer(201, auth.createSubagent({ principal, body, context }, deadline)),
    updateIdentity: ({ caller: { principal }, params: { id }, body, context, deadline }) =>
      answer(
        200,
        dropCallersAfter(auth.updateIdentity({ principal, id, body, context }, deadline)),
      ),
    archiveIdentity: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, dropCallersAfter(auth.archiveIdentity({ principal, id, context }, deadline))),
    restoreIdentity: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, dropCallersAfter(auth.restoreIdentity({ principal, id, context }, deadline))),
    revokeIdentity: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, dropCallersAfter(auth.revokeIdentity({ principal, id, context }, deadline))),
    listAgentKeys: ({ caller: { principal }, params: { id }, query, deadline }) =>
      answer(200, auth.listAgentKeys({ principal, id, page: pageRequestOf(query) }, deadline)),
    createAgentKey: ({ caller: { principal }, params: { id }, body, context, deadline }) =>
      answer(201, auth.createAgentKey({ principal, id, body, context }, deadline)),
    revokeAgentKey: ({ caller: { principal }, params, context, deadline }) =>
      answerNoContent(
        dropCallersAfter(
          auth.revokeAgentKey(
            { principal, id: params.id, keyId: params.key_id, context },
            deadline,
          ),
        ),
      ),
    async signOut({ caller: { principal, claims }, context, deadline }) {
      const answer = await answerNoContent(
        dropCallersAfter(auth.signOut({ principal, context }, deadline)),
      );
      if (claims.credential.kind !== 'session') return answer;
      return { ...answer, headers: { 'set-cookie': buildSessionCookie(site(), '', 0) } };
    },
  };
}
