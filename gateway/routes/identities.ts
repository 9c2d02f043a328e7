import type { identityRoutes } from '#contracts/http/identities';
import type { Deps } from '../deps.ts';
import { sessionCookie } from '../domain/site.ts';
import { answer, done, pageRequestOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function identityHandlers({
  auth,
  authenticator,
  site,
}: Deps): HandlersOf<typeof identityRoutes> {
  /** Here at once; on the other replicas with the event of auth. */
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
      done(
        dropCallersAfter(
          auth.revokeAgentKey(
            { principal, id: params.id, keyId: params.key_id, context },
            deadline,
          ),
        ),
      ),
    async signOut({ caller: { principal, claims }, context, deadline }) {
      const answered = await done(dropCallersAfter(auth.signOut({ principal, context }, deadline)));
      if (claims.credential.kind !== 'session') return answered;
      return { ...answered, headers: { 'set-cookie': sessionCookie(site(), '', 0) } };
    },
  };
}
