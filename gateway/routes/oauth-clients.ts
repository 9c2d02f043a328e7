import type { oauthClientRoutes } from '#contracts/http/oauth-clients';
import type { Deps } from '../deps.ts';
import { answer, done, pageRequestOf } from '../route.ts';
import type { HandlersOf } from '../route.ts';

export function oauthClientHandlers({
  auth,
  authenticator,
}: Deps): HandlersOf<typeof oauthClientRoutes> {
  /** Here at once; on the other replicas with the event of auth. */
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
      done(
        dropCallersAfter(
          auth.deleteMcpConnection(
            { principal, id: params.id, clientId: params.client_id, context },
            deadline,
          ),
        ),
      ),
  };
}
