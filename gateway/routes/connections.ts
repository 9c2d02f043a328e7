import type { connectionRoutes } from '#contracts/http/connections';
import type { oauthAppRoutes } from '#contracts/http/oauth-apps';
import type { Deps } from '../deps.ts';
import { answer, answerNoContent, pageRequestOf } from '../http/route-handler.ts';
import type { HandlersOf } from '../http/route-handler.ts';

export function connectionHandlers({ executor }: Deps): HandlersOf<typeof connectionRoutes> {
  return {
    listConnections: ({ caller: { principal }, query, deadline }) =>
      answer(200, executor.listConnections({ principal, page: pageRequestOf(query) }, deadline)),
    createConnection: ({ caller: { principal }, body, context, deadline }) =>
      answer(201, executor.createConnection({ principal, body, context }, deadline)),
    getConnection: ({ caller: { principal }, params: { id }, deadline }) =>
      answer(200, executor.getConnection({ principal, id }, deadline)),
    refreshConnection: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answer(200, executor.refreshConnection({ principal, id, context }, deadline)),
    deleteConnection: ({ caller: { principal }, params: { id }, context, deadline }) =>
      answerNoContent(executor.deleteConnection({ principal, id, context }, deadline)),
  };
}

export function oauthAppHandlers({ executor }: Deps): HandlersOf<typeof oauthAppRoutes> {
  return {
    listOauthApps: ({ caller: { principal }, deadline }) =>
      answer(200, executor.listOauthApps({ principal }, deadline)),
    getOauthApp: ({ caller: { principal }, params: { provider }, deadline }) =>
      answer(200, executor.getOauthApp({ principal, provider }, deadline)),
    putOauthApp: ({ caller: { principal }, params: { provider }, body, context, deadline }) =>
      answer(200, executor.putOauthApp({ principal, provider, body, context }, deadline)),
    deleteOauthApp: ({ caller: { principal }, params: { provider }, context, deadline }) =>
      answerNoContent(executor.deleteOauthApp({ principal, provider, context }, deadline)),
  };
}
