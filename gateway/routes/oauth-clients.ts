import type { oauthClientRoutes } from '#contracts/http/oauth-clients';
import type { Deps } from '../deps.ts';
import { answer, answerNoContent, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function oauthClientHandlers({
  auth,
  authenticator,
}: Deps): HandlersOf<typeof oauthClientRoutes> {
  /**
   * Drops cached callers of this replica after the change. Other replicas drop theirs when auth's
   * event arrives.
   */
  const dropCallersAfter = <T>(work: Promise<T>) => work.finally(() => authenticator.forget());
  return {
    listOauthClients: ({ caller: { principal }, query, deadline }) =>
      answer(200, auth.listOauthClients({ principal, page: pageRequestOf(query) }, deadline)),
    revokeOauthClient: ({ caller: { principal }, params, context, deadline }) =>
      answer(
        200,
        dropCallersAfter(
          auth.revokeOauthClient({ principal, clientId: params.id, context }, deadline),
        ),
      ),
    listMcpConnections: ({ caller: { principal }, params: { id }, query, deadline }) =>
      answer(200, auth.listMcpConnections({ principal, id, page: pageRequestOf(query) }, deadline)),
    updateMcpConnection: ({ caller: { principal }, params, body, context, deadline }) =>
      answer(
        200,
        auth.updateMcpConnection(
          { principal, id: params.id, clientId: params.client_id, body, context },
          deadline,
        ),
      ),
    deleteMcpConnection: ({ caller: { principal }, params, context, deadline }) =>
      answerNoContent(
        dropCallersAfter(
          auth.deleteMcpConnection(
            { principal, id: params.id, clientId: params.client_id, context },
            deadline,
          ),
        ),
      ),
  };
}
